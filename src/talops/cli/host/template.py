"""`talops template`: Talos VM templates on Proxmox hosts, which the plan clones."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.host.commands import User
from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.proxmox.client import Access
    from talops.proxmox.templates import Recipe, Template
    from talops.site.site import ClosedSite

app = typer.Typer(help="Create, list and remove Talos VM templates.", no_args_is_help=True)


class Source(StrEnum):
    IMAGE = "image"
    ISO = "iso"


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="template")


@app.command()
def build(
    directory: Directory = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host", help="Proxmox host; repeatable (default: the host that the plan clones on)."
        ),
    ] = None,
    all_hosts: Annotated[
        bool, typer.Option("--all-hosts", help="All Proxmox hosts that have nodes.")
    ] = False,
    source: Annotated[
        Source, typer.Option("--from", help="Use the disk image or the ISO of the Image Factory.")
    ] = Source.IMAGE,
    vm_id: Annotated[
        int | None,
        typer.Option(
            "--vm-id",
            min=100,
            help="VMID of the template (default: template_vm_id, or a free one).",
        ),
    ] = None,
    user: User = None,
    output: Output = Format.TEXT,
) -> None:
    """Create template talos-v<version>-base with Talos and no machine config."""
    from talops.cli.host.access import access_to, place_of
    from talops.site.template_recipe import recipes

    site = place_of(directory)
    wanted = recipes(site.cluster, _hosts(site, host, all_hosts), source=source, vm_id=vm_id)
    access = access_to(site, user)
    _register_schematic(site)
    made = asyncio.run(_build(access, wanted))
    _show(made, output)


def _hosts(site: ClosedSite, named: list[str] | None, all_hosts: bool) -> list[str]:
    from talops.app.proxmox_login import proxmox_of

    if named:
        return named
    using = sorted({node.vm.host for node in site.cluster.nodes if node.vm})
    return list(dict.fromkeys([proxmox_of(site).node, *(using if all_hosts else [])]))


def _register_schematic(site: ClosedSite) -> None:
    """The Image Factory only builds images of registered schematics."""
    from talops.inventory.schematics import schematic_text
    from talops.site.host_wanted import template_node
    from talops.talos.image_factory import ImageFactory

    extensions = template_node(site.cluster).extensions
    if extensions is None:
        return
    ca_file = site.cluster.image_factory_ca_file
    factory = ImageFactory(
        site.cluster.image_factory_url, ca_file=str(site.root / ca_file) if ca_file else None
    )
    asyncio.run(factory.register(schematic_text(extensions)))


async def _build(access: Access, wanted: list[Recipe]) -> list[Template]:
    from talops.proxmox.client import Client
    from talops.proxmox.template_build import build

    async with Client(access) as client:
        return [await build(client, recipe, note) for recipe in wanted]


@app.command("list")
def list_(directory: Directory = None, user: User = None, output: Output = Format.TEXT) -> None:
    """List the templates on all hosts and the VMs that are cloned from them."""
    from talops.cli.host.access import access_to, place_of

    _show(asyncio.run(_listed(access_to(place_of(directory), user))), output)


async def _listed(access: Access) -> list[Template]:
    from talops.proxmox.client import Client
    from talops.proxmox.templates import listed

    async with Client(access) as client:
        return await listed(client)


def _show(found: list[Template], output: Format) -> None:
    if output is Format.JSON:
        print_json({"version": 1, "templates": [_as_dict(each) for each in found]})
        return
    for each in found:
        holds = (
            f"Talos {each.provenance.version} {each.provenance.schematic[:12]}"
            if each.provenance
            else "not created by talops"
        )
        clones = f"  linked clones: {', '.join(map(str, each.clones))}" if each.clones else ""
        typer.echo(f"{each.host}\t{each.vm_id}\t{each.name}\t{holds}{clones}")
    if not found:
        note("no templates visible to these credentials (requires VM.Audit)")


def _as_dict(each: Template) -> dict[str, object]:
    return {
        "host": each.host,
        "vm_id": each.vm_id,
        "name": each.name,
        "ours": each.ours,
        "talos_version": each.provenance.version if each.provenance else None,
        "schematic": each.provenance.schematic if each.provenance else None,
        "secureboot": each.provenance.secureboot if each.provenance else None,
        "source": each.provenance.source if each.provenance else None,
        "linked_clones": list(each.clones),
    }


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name or VMID of the template.")],
    directory: Directory = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="Proxmox host; repeatable (default: all).")
    ] = None,
    user: User = None,
) -> None:
    """Remove a template that talops created, unless linked clones use it."""
    from talops.cli.host.access import access_to, place_of

    for each in asyncio.run(_remove(access_to(place_of(directory), user), name, host)):
        typer.echo(f"removed {each.name} (VM {each.vm_id}) from {each.host}")


async def _remove(access: Access, name: str, hosts: list[str] | None) -> list[Template]:
    from talops.proxmox.client import Client
    from talops.proxmox.templates import listed, remove

    async with Client(access) as client:
        every = await listed(client)
        fitting = [
            t for t in every if name in {t.name, str(t.vm_id)} and t.host in (hosts or [t.host])
        ]
        if not fitting:
            there = ", ".join(f"{t.name} ({t.vm_id})" for t in every) or "none"
            raise TalopsError(
                f"no template {name!r} visible to these credentials; existing templates: {there}",
                where=access.endpoint,
                hint="talops template list",
            )
        for each in fitting:
            await remove(client, each)
        return fitting

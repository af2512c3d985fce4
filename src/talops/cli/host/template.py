"""`talops template`: Talos VM templates on Proxmox hosts, which the plan clones."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.host.commands import User
from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json

if TYPE_CHECKING:
    from talops.proxmox.templates import Template

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
    from talops.app import templates
    from talops.cli.host.access import access_to, place_of

    site = place_of(directory)
    asked = templates.wanted(site, host or [], all_hosts=all_hosts, source=source, vm_id=vm_id)
    made = asyncio.run(templates.build(site, access_to(site, user), asked, note))
    _show(made, output)


@app.command("list")
def list_(directory: Directory = None, user: User = None, output: Output = Format.TEXT) -> None:
    """List the templates on all hosts and the VMs that are cloned from them."""
    from talops.app import templates
    from talops.cli.host.access import access_to, place_of

    _show(asyncio.run(templates.listed(access_to(place_of(directory), user))), output)


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
    from talops.app import templates
    from talops.cli.host.access import access_to, place_of

    access = access_to(place_of(directory), user)
    for each in asyncio.run(templates.remove(access, name, host or [])):
        typer.echo(f"removed {each.name} (VM {each.vm_id}) from {each.host}")

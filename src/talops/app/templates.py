"""Talos VM templates on the Proxmox hosts of a site: create, list and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.proxmox_login import proxmox_of
from talops.errors import TalopsError
from talops.inventory.schematics import schematic_text
from talops.proxmox import template_build, templates
from talops.proxmox.client import Client
from talops.site.proxmox.template_recipe import recipes
from talops.site.proxmox.wanted import template_node
from talops.talos.image_factory import ImageFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from talops.proxmox.client import Access
    from talops.proxmox.templates import Recipe, Template
    from talops.site.site import ClosedSite


def wanted(
    site: ClosedSite, hosts: Sequence[str], *, all_hosts: bool, source: str, vm_id: int | None
) -> list[Recipe]:
    """One template per host; without a name, that is the host on which the plan clones."""
    using = sorted({node.vm.host for node in site.cluster.nodes if node.vm})
    cloning = dict.fromkeys([proxmox_of(site).node, *(using if all_hosts else [])])
    return recipes(site.cluster, list(hosts or cloning), source=source, vm_id=vm_id)


async def build(
    site: ClosedSite, access: Access, asked: Sequence[Recipe], note: Callable[[str], None]
) -> list[Template]:
    await _register_schematic(site)
    async with Client(access) as client:
        return [await template_build.build(client, recipe, note) for recipe in asked]


async def _register_schematic(site: ClosedSite) -> None:
    """The Image Factory only builds images of registered schematics."""
    extensions = template_node(site.cluster).extensions
    if extensions is None:
        return
    factory = ImageFactory(
        site.cluster.image_factory_url, ca_file=site.path_of(site.cluster.image_factory_ca_file)
    )
    await factory.register(schematic_text(extensions))


async def listed(access: Access) -> list[Template]:
    async with Client(access) as client:
        return await templates.listed(client)


async def remove(access: Access, name: str, hosts: Collection[str]) -> list[Template]:
    """Remove the templates with this name or VMID, on all hosts unless some are named."""
    async with Client(access) as client:
        every = await templates.listed(client)
        chosen = [
            t for t in every if name in {t.name, str(t.vm_id)} and t.host in (hosts or [t.host])
        ]
        if not chosen:
            known = ", ".join(f"{t.name} ({t.vm_id})" for t in every) or "none"
            raise TalopsError(
                f"no template {name!r} visible to these credentials; existing templates: {known}",
                where=access.endpoint,
                hint="talops template list",
            )
        for each in chosen:
            await templates.remove(client, each)
        return chosen

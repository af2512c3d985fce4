"""Building a template: once, even if several runs build it at the same time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, NotReadyError, TalopsError
from talops.proxmox import guests, storage, tasks
from talops.proxmox.provenance import TAG, read_provenance
from talops.proxmox.templates import Template
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.proxmox.client import Client
    from talops.proxmox.facts import Guest
    from talops.proxmox.templates import Recipe

# Time limit for creating a VM with an imported disk.
LONGEST = tasks.LONGEST


async def build(
    client: Client, recipe: Recipe, tell: Callable[[str], None], *, longest: float = LONGEST
) -> Template:
    """Create the template unless it exists; finish what a killed run left.

    Proxmox writes a VM's config in one piece at the end of its creation, and removes the VM if
    that fails: a VM with our mark and without a lock lacks only the conversion.
    """
    there = await _existing(client, recipe, longest)
    if there and there.template:
        return Template(there.vm_id, there.name, there.host, read_provenance(there.description))
    if there:
        tell(f"{recipe.host}: finishing VM {there.vm_id}, which an earlier build left incomplete")
        return await _convert(client, replace(recipe, vm_id=there.vm_id), longest)
    await _fetch(client, recipe, tell)
    numbered = replace(recipe, vm_id=recipe.vm_id or await guests.next_id(client))
    tell(f"{recipe.host}: creating VM {numbered.vm_id}")
    try:
        await tasks.run(client, "POST", f"nodes/{recipe.host}/qemu", _config(numbered))
    except (ConflictError, NotReadyError):
        # The VMID is used now: by another build of the same template, or this is the error.
        if await _existing(client, numbered, longest) is None:
            raise
    return await _convert(client, numbered, longest)


async def _fetch(client: Client, recipe: Recipe, tell: Callable[[str], None]) -> None:
    if recipe.volume in await storage.files(client, recipe.host, recipe.image_storage):
        return
    tell(f"{recipe.host}: downloading {recipe.file_name}")
    try:
        await storage.download(client, recipe.host, recipe.volume, recipe.url)
    except TalopsError:
        # A file exists only when it is complete: another build may have been faster.
        if recipe.volume not in await storage.files(client, recipe.host, recipe.image_storage):
            raise


async def _convert(client: Client, recipe: Recipe, longest: float) -> Template:
    assert recipe.vm_id
    try:
        await tasks.run(client, "POST", f"nodes/{recipe.host}/qemu/{recipe.vm_id}/template")
    except TalopsError:
        there = await _existing(client, recipe, longest)
        if there is None or not there.template:
            raise
    return Template(recipe.vm_id, recipe.name, recipe.host, recipe.provenance)


async def _existing(client: Client, recipe: Recipe, longest: float) -> Guest | None:
    """The VM of this template, complete or not; any other guest with its VMID is an error."""

    async def unlocked() -> Ready[Guest | None] | NotYet:
        found = await _in_its_place(client, recipe)
        if found and found.lock and (not found.name or _made_by_us(found)):
            return NotYet(f"VM {found.vm_id} is locked ({found.lock})")
        return Ready(found)

    found = await wait_for(
        f"template {recipe.name} on {recipe.host}",
        unlocked,
        timeout=longest,
        interval=tasks.INTERVAL,
        hint="another build may still be running; if no task works on that VM, remove it on the "
        "host: qm unlock VMID; qm destroy VMID",
    )
    if found is not None:
        _need_same(found, recipe)
    return found


async def _in_its_place(client: Client, recipe: Recipe) -> Guest | None:
    every = await guests.guests(client)
    if recipe.vm_id is None:
        same = [g for g in every if g.name == recipe.name and g.host == recipe.host]
        return next((g for g in same if _made_by_us(g)), None)
    found = next((g for g in every if g.vm_id == recipe.vm_id), None)
    if found is None and await guests.hidden(client, [recipe.vm_id]):
        raise ConflictError(
            f"VMID {recipe.vm_id} is taken by a VM that {client.access.who} may not see",
            hint="set another VMID (template_vm_id), or grant VM.Audit on /vms",
        )
    return found


def _need_same(found: Guest, recipe: Recipe) -> None:
    where = f"VM {found.vm_id} on {found.host}"
    if not _made_by_us(found):
        raise ConflictError(
            f"VM {found.vm_id} ({found.name}) has the VMID, but talops did not create it",
            where=where,
            hint="set template_vm_id to a free VMID",
        )
    held, wanted = read_provenance(found.description), recipe.provenance
    if held != wanted or found.host != recipe.host:
        holds = "unknown content"
        if held:
            holds = f"Talos {held.version}, schematic {held.schematic[:12]}"
        raise ConflictError(
            f"template {found.name} on {found.host} holds {holds}; required is Talos "
            f"{wanted.version}, schematic {wanted.schematic[:12]}, on {recipe.host}",
            where=where,
            hint=f"talops template remove {found.vm_id}, or set template_vm_id to a free VMID",
        )


def _made_by_us(guest: Guest) -> bool:
    return TAG in guest.tags and read_provenance(guest.description) is not None


def _config(recipe: Recipe) -> dict[str, Any]:
    hardware, held = recipe.hardware, recipe.provenance
    config: dict[str, Any] = {
        "vmid": recipe.vm_id,
        "name": recipe.name,
        "description": f"Talos {held.version}, to be cloned.\n\n{held.line()}",
        "tags": f"{TAG};talos",
        "bios": hardware.bios,
        "machine": hardware.machine,
        "scsihw": hardware.scsi_hw,
        "cpu": hardware.cpu_type,
        "cores": hardware.cores,
        "memory": hardware.memory,
        "ostype": "l26",
        "serial0": "socket",
        "net0": f"virtio,bridge={hardware.bridge}",
        "boot": "order=scsi0",
    }
    # No EFI disk: the provider moves a cloned one to the storage that it is on, which Proxmox
    # refuses; if the template has none, it creates one.
    if recipe.content == "import":
        config["scsi0"] = f"{hardware.disk_storage}:0,import-from={recipe.volume}"
    else:
        config["scsi0"] = f"{hardware.disk_storage}:{hardware.disk_gib}"
        config["ide3"] = f"{recipe.volume},media=cdrom"
        config["boot"] = "order=scsi0;ide3"
    return config

"""Templates: Talos as it comes from the Image Factory, ready to be cloned; no machine config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, PreflightError
from talops.proxmox import guests, storage, tasks
from talops.proxmox.marks import TAG, Mark, read_mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.proxmox.client import Client
    from talops.proxmox.facts import Guest


@dataclass(frozen=True)
class Hardware:
    """What a clone inherits, unless the plan says otherwise."""

    bios: str
    machine: str
    scsi_hw: str
    cpu_type: str
    bridge: str
    disk_storage: str
    disk_gib: int  # of a template made from an ISO, whose disk is empty
    cores: int = 2
    memory: int = 2048  # MiB


@dataclass(frozen=True)
class Recipe:
    """One template on one host."""

    name: str
    host: str
    vm_id: int | None  # None: the next free one
    mark: Mark
    hardware: Hardware
    image_storage: str
    file_name: str
    url: str

    @property
    def content(self) -> str:
        return "iso" if self.mark.source == "iso" else "import"


@dataclass(frozen=True)
class Template:
    vm_id: int
    name: str
    host: str
    mark: Mark | None  # None: not made by talops
    clones: tuple[int, ...] = ()  # VMs whose disks stand on its own

    @property
    def ours(self) -> bool:
        return self.mark is not None


async def listed(client: Client) -> list[Template]:
    """Every template that the caller may see, with the linked clones that need it."""
    every = await guests.guests(client)
    found = []
    for guest in sorted((g for g in every if g.template), key=lambda g: (g.host, g.vm_id)):
        mark = read_mark(guest.description) if TAG in guest.tags else None
        clones = await _clones(client, guest, every)
        found.append(Template(guest.vm_id, guest.name, guest.host, mark, clones))
    return found


async def _clones(client: Client, template: Guest, every: tuple[Guest, ...]) -> tuple[int, ...]:
    """Volumes name their base: in their id, or as `parent`."""
    found: set[int] = set()
    base = f"base-{template.vm_id}-disk-"
    for each in await storage.storages(client, template.host):
        if "images" not in each.content or not each.active:
            continue
        rows = await client.get(f"nodes/{template.host}/storage/{each.name}/content")
        for row in rows:
            stands_on = f"{row.get('parent') or ''} {row['volid'].rpartition('/')[0]}"
            if base in stands_on and int(row.get("vmid", 0)) != template.vm_id:
                found.add(int(row.get("vmid", 0)))
    return tuple(sorted(found & {guest.vm_id for guest in every} | (found - {0})))


async def build(client: Client, recipe: Recipe, tell: Callable[[str], None]) -> Template:
    """Make the template, or find that it is there already; what a killed run left is removed."""
    there = await _existing(client, recipe)
    if there and there.template:
        return Template(there.vm_id, there.name, there.host, read_mark(there.description))
    if there:
        tell(f"{recipe.host}: removing VM {there.vm_id}, which an earlier build left half made")
        await tasks.run(client, "DELETE", f"nodes/{there.host}/qemu/{there.vm_id}", {"purge": 1})
    volume = f"{recipe.image_storage}:{recipe.content}/{recipe.file_name}"
    if volume not in await storage.files(client, recipe.host, recipe.image_storage):
        tell(f"{recipe.host}: downloading {recipe.file_name}")
        await storage.download(client, recipe.host, volume, recipe.url)
    vm_id = recipe.vm_id or await guests.next_id(client)
    tell(f"{recipe.host}: making VM {vm_id}")
    await tasks.run(client, "POST", f"nodes/{recipe.host}/qemu", _config(recipe, vm_id, volume))
    await tasks.run(client, "POST", f"nodes/{recipe.host}/qemu/{vm_id}/template")
    return Template(vm_id, recipe.name, recipe.host, recipe.mark)


async def _existing(client: Client, recipe: Recipe) -> Guest | None:
    """The VM that is this template, whole or half made; anything else in its place is refused."""
    every = await guests.guests(client)
    if recipe.vm_id is None:
        same = [g for g in every if g.name == recipe.name and g.host == recipe.host]
        found = next((g for g in same if _made_by_us(g)), None)
    else:
        found = next((g for g in every if g.vm_id == recipe.vm_id), None)
        if found is None and await guests.hidden(client, [recipe.vm_id]):
            raise ConflictError(
                f"VMID {recipe.vm_id} is taken by a VM that {client.access.who} may not see",
                hint="give another VMID (template_vm_id), or grant VM.Audit on /vms",
            )
    if found is None:
        return None
    _need_same(found, recipe)
    return found


def _need_same(found: Guest, recipe: Recipe) -> None:
    where = f"VM {found.vm_id} on {found.host}"
    if not _made_by_us(found):
        raise ConflictError(
            f"VM {found.vm_id} ({found.name}) is in the way, and talops did not make it",
            where=where,
            hint="set template_vm_id to a free VMID",
        )
    mark = read_mark(found.description)
    if mark != recipe.mark or found.host != recipe.host:
        holds = (
            f"Talos {mark.version}, schematic {mark.schematic[:12]}" if mark else "nothing known"
        )
        raise ConflictError(
            f"template {found.name} on {found.host} holds {holds}; wanted is Talos "
            f"{recipe.mark.version}, schematic {recipe.mark.schematic[:12]}, on {recipe.host}",
            where=where,
            hint=f"talops template remove {found.vm_id}, or set template_vm_id to a free VMID",
        )


def _made_by_us(guest: Guest) -> bool:
    return TAG in guest.tags and read_mark(guest.description) is not None


def _config(recipe: Recipe, vm_id: int, volume: str) -> dict[str, Any]:
    hardware = recipe.hardware
    config: dict[str, Any] = {
        "vmid": vm_id,
        "name": recipe.name,
        "description": f"Talos {recipe.mark.version}, to be cloned.\n\n{recipe.mark.line()}",
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
    if hardware.bios == "ovmf":
        config["efidisk0"] = f"{hardware.disk_storage}:1,efitype=4m,pre-enrolled-keys=0"
    if recipe.content == "import":
        config["scsi0"] = f"{hardware.disk_storage}:0,import-from={volume}"
    else:
        config["scsi0"] = f"{hardware.disk_storage}:{hardware.disk_gib}"
        config["ide3"] = f"{volume},media=cdrom"
        config["boot"] = "order=scsi0;ide3"
    return config


async def remove(client: Client, template: Template) -> None:
    where = f"VM {template.vm_id} on {template.host}"
    if not template.ours:
        raise PreflightError(
            f"{template.name} was not made by talops, so talops does not remove it",
            where=where,
            hint=f"remove it yourself: qm destroy {template.vm_id}",
        )
    if template.clones:
        listed_ = ", ".join(map(str, template.clones))
        raise PreflightError(
            f"the disks of VM {listed_} stand on {template.name} (linked clones)",
            where=where,
            hint="remove those VMs first, or copy their disks: qm disk move",
        )
    path = f"nodes/{template.host}/qemu/{template.vm_id}"
    await tasks.run(client, "DELETE", path, {"purge": 1, "destroy-unreferenced-disks": 1})

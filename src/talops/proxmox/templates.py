"""Templates: Talos as it comes from the Image Factory, ready to be cloned; no machine config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import PreflightError
from talops.proxmox import guests, storage, tasks
from talops.proxmox.provenance import TAG, Provenance, read_provenance

if TYPE_CHECKING:
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
    provenance: Provenance
    hardware: Hardware
    image_storage: str
    file_name: str
    url: str

    @property
    def content(self) -> str:
        return "iso" if self.provenance.source == "iso" else "import"

    @property
    def volume(self) -> str:
        return f"{self.image_storage}:{self.content}/{self.file_name}"


@dataclass(frozen=True)
class Template:
    vm_id: int
    name: str
    host: str
    provenance: Provenance | None  # None: not created by talops
    clones: tuple[int, ...] = ()  # linked clones: VMs whose disks depend on its disk

    @property
    def ours(self) -> bool:
        return self.provenance is not None


async def listed(client: Client) -> list[Template]:
    """Every template that the caller may see, with the linked clones that need it."""
    every = await guests.guests(client)
    found = []
    for guest in sorted((g for g in every if g.template), key=lambda g: (g.host, g.vm_id)):
        provenance = read_provenance(guest.description) if TAG in guest.tags else None
        clones = await _clones(client, guest, every)
        found.append(Template(guest.vm_id, guest.name, guest.host, provenance, clones))
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


async def remove(client: Client, template: Template) -> None:
    where = f"VM {template.vm_id} on {template.host}"
    if not template.ours:
        raise PreflightError(
            f"{template.name} was not created by talops, so talops does not remove it",
            where=where,
            hint=f"remove it yourself: qm destroy {template.vm_id}",
        )
    if template.clones:
        listed_ = ", ".join(map(str, template.clones))
        raise PreflightError(
            f"the disks of VM {listed_} depend on {template.name} (linked clones)",
            where=where,
            hint="remove those VMs first, or copy their disks: qm disk move",
        )
    path = f"nodes/{template.host}/qemu/{template.vm_id}"
    await tasks.run(client, "DELETE", path, {"purge": 1, "destroy-unreferenced-disks": 1})

"""What Proxmox itself holds after a bring-up: whatever is there twice shows twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.e2e.conftest import Lab

    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.volumes import Volume

DISKS = "images"


@dataclass(frozen=True)
class Holdings:
    vms: list[str]
    stray_disks: list[str]
    images: list[str]

    def problems(self, wanted: Iterable[str]) -> list[str]:
        """How this differs from one VM of each name, with its own disks, made from one image."""
        found = [f"stray disk {disk}" for disk in self.stray_disks]
        if self.vms != sorted(wanted):
            found.append(f"VMs {self.vms}")
        if len(self.images) != 1:
            found.append(f"images {self.images}")
        return found


def holdings(lab: Lab) -> Holdings:
    hosts = list(lab.world.proxmox.hypervisors.values())
    volumes = [(pve, volume) for pve in hosts for volume in pve.storages.volumes.values()]
    return Holdings(
        vms=sorted(vm.name for pve in hosts for vm in pve.vms.values()),
        stray_disks=[v.volid for pve, v in volumes if v.content == DISKS and not _in_use(pve, v)],
        images=[volume.volid for _, volume in volumes if volume.content != DISKS],
    )


def _in_use(pve: Hypervisor, volume: Volume) -> bool:
    """Whether a drive of its VM names it."""
    vm = pve.vms.get(str(volume.vmid))
    return vm is not None and volume.volid in {drive["file"] for drive in vm.drives().values()}

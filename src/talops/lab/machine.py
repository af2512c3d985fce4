"""A virtual machine as the guest sees it: the interface between the two parts of the lab.

The lab's Proxmox tells a `MachineHost` when a VM gets or loses power; the lab's Talos is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Nic:
    """`vlan` is the tag that Proxmox applies outside, so the guest sees untagged frames."""

    mac: str
    bridge: str
    vlan: int | None = None
    mtu: int | None = None


@dataclass(frozen=True)
class Disk:
    """`image` is the file that the disk was imported from or cloned with, if it holds an OS."""

    slot: str  # scsi0, virtio1 …
    size: int  # bytes
    serial: str = ""
    image: Path | None = None


@dataclass(frozen=True)
class StaticNetwork:
    """What the cloud-init drive (nocloud) carries; `address` with its prefix length."""

    address: str
    gateway: str | None = None
    nameservers: tuple[str, ...] = ()
    search_domain: str | None = None


@dataclass(frozen=True)
class Machine:
    """One powered-on VM. `uuid` (SMBIOS) stays the same for the VM's life."""

    uuid: str
    vmid: int
    node: str
    name: str
    cores: int
    memory: int  # bytes
    nics: tuple[Nic, ...]
    disks: tuple[Disk, ...]
    cdrom: Path | None = None
    network: StaticNetwork | None = None
    uefi: bool = True
    secureboot: bool = False
    tpm: bool = False
    pci: tuple[str, ...] = ()  # BDFs on the host, after mappings are resolved


class MachineHost(Protocol):
    """Runs what is inside the machines."""

    async def power_on(self, machine: Machine) -> None: ...

    async def power_off(self, uuid: str, *, graceful: bool) -> None: ...

    async def destroy(self, uuid: str) -> None:
        """The VM and its disks are removed permanently."""


class MachinePower(Protocol):
    """Requests of the guest to its hypervisor."""

    async def guest_powered_off(self, uuid: str) -> None: ...

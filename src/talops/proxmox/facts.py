"""What was read from a Proxmox, and what could not be read: never the same thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from talops.proxmox.certificate import Certificate


@dataclass(frozen=True)
class Unread:
    """The value exists, but it could not be read."""

    reason: str
    hint: str | None = None


@dataclass(frozen=True)
class Host:
    name: str
    online: bool
    # None: the token may not read them.
    cores: int | None = None
    memory: int | None = None
    used_memory: int | None = None


@dataclass(frozen=True)
class Storage:
    name: str
    host: str
    type: str
    content: frozenset[str]
    active: bool
    shared: bool
    free: int
    total: int = 0  # 0: Proxmox does not report it


@dataclass(frozen=True)
class Interface:
    name: str
    host: str
    type: str
    active: bool
    vlan_aware: bool
    vlans: str = ""  # like 2-4094; empty: all that exist
    address: str = ""
    network: str = ""  # the address with its prefix, like 10.0.0.2/24
    gateway: str = ""


@dataclass(frozen=True)
class Device:
    host: str
    path: str  # 0000:01:00.0
    id: str  # vendor:device, no 0x
    group: int | None  # None: IOMMU is off
    class_: str
    name: str = ""
    subsystem_id: str = ""


@dataclass(frozen=True)
class Guest:
    """An existing VM or container."""

    vm_id: int
    name: str
    host: str
    running: bool
    template: bool
    tags: frozenset[str] = frozenset()
    cores: int = 0
    memory: int = 0
    # None: its configuration could not be read.
    macs: frozenset[str] | None = frozenset()
    addresses: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()  # mapping names or PCI paths
    description: str = ""
    efi_disk: bool = False
    uuid: str = ""  # of the SMBIOS tables, in lower case
    lock: str = ""  # "create" until a new one has its disks and its name


@dataclass(frozen=True)
class MappedDevice:
    """One line of a PCI mapping; `path` may name several functions, separated by semicolons."""

    node: str
    path: str
    id: str = ""  # vendor:device
    iommu_group: int | None = None
    subsystem_id: str = ""

    @property
    def first_path(self) -> str:
        return self.path.split(";", maxsplit=1)[0]


@dataclass(frozen=True)
class PciMapping:
    name: str
    devices: tuple[MappedDevice, ...]


Held: TypeAlias = "Mapping[str, Mapping[str, bool]]"  # path → privilege → also below


@dataclass(frozen=True)
class Facts:
    now: datetime
    endpoint: str
    who: str
    by_password: bool
    insecure: bool
    certificate: Certificate | Unread
    version: str | Unread
    permissions: Held | Unread = field(default_factory=dict)
    roles: Mapping[str, frozenset[str]] | Unread = field(default_factory=dict)
    hosts: tuple[Host, ...] | Unread = ()
    storages: tuple[Storage, ...] | Unread = ()
    interfaces: tuple[Interface, ...] | Unread = ()
    devices: tuple[Device, ...] | Unread = ()
    mappings: tuple[PciMapping, ...] | Unread = ()
    guests: tuple[Guest, ...] | Unread = ()
    # Planned VMIDs that guests use which the token cannot see.
    hidden_ids: frozenset[int] = frozenset()
    # Volume ids of the images that exist.
    images: frozenset[str] | Unread = frozenset()

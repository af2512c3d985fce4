"""What a plan needs from Proxmox, without the rest of the inventory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.proxmox.facts import MappedDevice

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True)
class WantedVm:
    name: str
    host: str
    vm_id: int | None
    mac: str
    address: str
    cores: int  # of all sockets together
    memory: int  # bytes
    disk: int  # bytes
    storage: str
    bridge: str
    vlan: int | None  # the tag that Proxmox applies
    pool: str | None = None
    gpus: tuple[str, ...] = ()  # names of mappings, or PCI addresses
    where: str = ""  # file:line of the inventory
    cluster_tag: str = ""  # a VM with this name and this tag is ours
    begun: bool = False  # an earlier run started to create it and did not finish


@dataclass(frozen=True)
class RecordedVm:
    """A VM of this cluster in the OpenTofu state."""

    name: str
    macs: frozenset[str]


@dataclass(frozen=True)
class WantedImage:
    host: str
    storage: str
    content: str  # iso, import
    file_name: str
    for_template: bool = False  # `talops template build` fetches it, the plan does not


@dataclass(frozen=True)
class WantedTemplate:
    """The template that VMs are cloned from."""

    name: str
    vm_id: int
    host: str
    version: str
    schematic: str
    bridge: str = ""  # of its network card


@dataclass(frozen=True)
class Managed:
    """What layer 01 creates: not missing before it ran, but its creation needs privileges."""

    bridges: frozenset[tuple[str, str]] = frozenset()  # host, name
    vlans: frozenset[tuple[str, str]] = frozenset()
    storages: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()
    mappings: dict[str, tuple[MappedDevice, ...]] = field(default_factory=dict)
    roles: bool = False
    realms: frozenset[str] = frozenset()  # of the users
    tokens: bool = False
    acl_paths: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wanted:
    """`recorded`: VMID → VM, as far as the state was read."""

    cluster: str
    hosts: tuple[str, ...]
    vms: tuple[WantedVm, ...]
    images: tuple[WantedImage, ...] = ()
    template: WantedTemplate | None = None
    managed: Managed = field(default_factory=Managed)
    startup_order: bool = True
    static_boot: bool = True
    guest_agent: bool = False
    clones: bool = False
    # Storages with ISOs that talops did not download.
    media: tuple[str, ...] = ()
    # Where the CSI plugin creates volumes; none without it.
    csi_storages: tuple[str, ...] = ()
    # The cloud controller manager runs in the cluster.
    ccm: bool = False
    recorded: Mapping[int, RecordedVm] = field(default_factory=dict)

    @property
    def mappings(self) -> dict[str, tuple[WantedVm, ...]]:
        """Each mapping that VMs use, and those VMs."""
        found: dict[str, tuple[WantedVm, ...]] = {}
        for vm in self.vms:
            for name in vm.gpus:
                if not is_address(name):
                    found[name] = (*found.get(name, ()), vm)
        return found

    @property
    def vm_paths(self) -> frozenset[str]:
        """Where rights on single VMs of the plan, and on its template, would be granted."""
        ids = {vm.vm_id for vm in self.vms} | ({self.template.vm_id} if self.template else set())
        return frozenset(f"/vms/{vm_id}" for vm_id in ids if vm_id is not None)

    def content_types(self) -> dict[str, frozenset[str]]:
        """What each storage must be allowed to hold."""
        found: dict[str, set[str]] = {}
        for vm in self.vms:
            found.setdefault(vm.storage, set()).add("images")
        for image in self.images:
            found.setdefault(image.storage, set()).add(image.content)
        return {name: frozenset(kinds) for name, kinds in sorted(found.items())}


def is_address(gpu: str) -> bool:
    """A PCI address, and not the name of a mapping."""
    return ":" in gpu


def gib(size: int) -> str:
    """Bytes for display: whole GiB where the rest does not matter."""
    return f"{size / GIB:.0f} GiB" if size >= 10 * GIB else f"{size / GIB:.1f} GiB"

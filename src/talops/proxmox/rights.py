"""The privileges that a plan needs, per path: derived from what each call of it is checked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.proxmox.wanted import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from talops.proxmox.wanted import Managed, Wanted

# New name → old one: a Proxmox refuses a role with a privilege that it does not know.
RENAMED = {"VM.GuestAgent.Audit": "VM.Monitor"}
LOCAL_ZONE = "/sdn/zones/localnetwork"


@dataclass(frozen=True)
class Need:
    """`role` groups what is granted together; any of `instead` serves as well."""

    path: str
    privilege: str
    why: str
    role: str
    deep: bool = False  # also for everything below the path
    instead: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Without it the plan works, and only a check is blind.
    required: bool = True


@dataclass(frozen=True)
class Grant:
    path: str
    role: str
    propagate: bool


VM_RIGHTS = {
    "VM.Audit": "see the VMs and read their configuration",
    "VM.Allocate": "create and remove VMs",
    "VM.PowerMgmt": "start and stop VMs",
    "VM.Config.Options": "name, tags, firmware and start order",
    "VM.Config.CPU": "cores and CPU type",
    "VM.Config.Memory": "memory",
    "VM.Config.Disk": "disks and boot order",
    "VM.Config.Network": "network cards",
    "VM.Config.HWType": "machine type, SCSI controller, serial port, PCI devices",
}


IMAGE_RIGHTS = {
    "Datastore.AllocateTemplate": "download Talos images",
    "Datastore.Allocate": "remove images again",
    "Datastore.Audit": "see the storage and its images",
}


def needs(wanted: Wanted) -> tuple[Need, ...]:
    found = [
        *_vms(wanted),
        *_disks(wanted),
        *_images(wanted),
        *_nodes(wanted),
        *_networks(wanted),
        *_devices(wanted),
        *_layer_one(wanted.managed),
    ]
    return tuple(dict.fromkeys(found))


def _vms(wanted: Wanted) -> Iterator[Need]:
    rights = dict(VM_RIGHTS)
    if wanted.static_boot or any(image.content == "iso" for image in wanted.images):
        rights["VM.Config.CDROM"] = "CD-ROM and cloud-init drives"
    if wanted.static_boot:
        rights["VM.Config.Cloudinit"] = "the drive that gives a node its first address"
    if len(wanted.hosts) > 1:
        rights["VM.Migrate"] = "move a VM back to its host, and clones to theirs"
    if wanted.clones:
        rights["VM.Clone"] = "clone the template"
    if wanted.guest_agent:
        rights["VM.GuestAgent.Audit"] = "ask the guest agent"
    pools = sorted({vm.pool for vm in wanted.vms if vm.pool})
    every = pools and all(vm.pool for vm in wanted.vms)
    for privilege, why in rights.items():
        # Rights on a pool reach its VMs, also those to come; the template is in none.
        usable = every and privilege not in {"VM.Clone", "VM.Audit"}
        instead = tuple((f"/pool/{pool}", (privilege,)) for pool in pools) if usable else ()
        yield Need("/vms", privilege, why, "VMs", deep=True, instead=instead)
    for pool in pools:
        yield Need(f"/pool/{pool}", "Pool.Audit", "see the pool of the VMs", "Pools")


def _disks(wanted: Wanted) -> Iterator[Need]:
    for storage in sorted({vm.storage for vm in wanted.vms}):
        why = "make the VMs' disks, and see the storage"
        yield Need(f"/storage/{storage}", "Datastore.AllocateSpace", why, "Disks")


def _images(wanted: Wanted) -> Iterator[Need]:
    for storage in sorted({image.storage for image in wanted.images}):
        planned = any(i.storage == storage and not i.for_template for i in wanted.images)
        for privilege, why in IMAGE_RIGHTS.items():
            yield Need(f"/storage/{storage}", privilege, why, "Images", required=planned)
    for storage in wanted.media:
        yield Need(f"/storage/{storage}", "Datastore.Audit", "attach ISOs", "Media")


def _nodes(wanted: Wanted) -> Iterator[Need]:
    everything = ("/", ("Sys.Audit", "Sys.Modify"))
    for host in sorted({image.host for image in wanted.images}):
        planned = any(i.host == host and not i.for_template for i in wanted.images)
        yield Need(
            f"/nodes/{host}",
            "Sys.AccessNetwork",
            "let the host download images",
            "Nodes",
            instead=(everything,),
            required=planned,
        )
    for host in wanted.hosts:
        yield Need(
            f"/nodes/{host}", "Sys.Audit", "read free memory and cores", "Nodes", required=False
        )
    if wanted.startup_order:
        # Proxmox asks for this beside VM.Config.Options: the order changes how the host behaves.
        yield Need("/", "Sys.Modify", "set the start order of VMs", "Host")
    moves = len(wanted.hosts) > 1
    if moves or any(vm.gpus for vm in wanted.vms):
        why = "look up high availability before a VM moves" if moves else "read PCI devices"
        yield Need("/", "Sys.Audit", why, "Host", required=moves)


def _networks(wanted: Wanted) -> Iterator[Need]:
    for bridge, vlan in sorted({(vm.bridge, vm.vlan or 0) for vm in wanted.vms}):
        # With a tag, Proxmox asks for the right on that tag of the bridge.
        path = f"{LOCAL_ZONE}/{bridge}/{vlan}" if vlan else f"{LOCAL_ZONE}/{bridge}"
        yield Need(path, "SDN.Use", f"attach network cards to {bridge}", "Bridges")


def _devices(wanted: Wanted) -> Iterator[Need]:
    for name in sorted(wanted.mappings):
        path = f"/mapping/pci/{name}"
        yield Need(path, "Mapping.Use", f"give VMs the device {name}", "Devices")
        yield Need(path, "Mapping.Audit", f"see what {name} is", "Devices", required=False)


def _layer_one(managed: Managed) -> Iterator[Need]:
    for host in sorted({host for host, _ in managed.bridges | managed.vlans}):
        for privilege in ("Sys.Modify", "Sys.Audit"):
            yield Need(f"/nodes/{host}", privilege, "make bridges and VLANs", "Networks")
    if managed.storages:
        yield Need("/storage", "Datastore.Allocate", "add storages", "Storages", deep=True)
    for name in sorted(managed.storages):
        yield Need(f"/storage/{name}", "Datastore.Allocate", f"manage {name}", "Storages")
    for pool in sorted(managed.pools):
        for privilege in ("Pool.Allocate", "Pool.Audit"):
            yield Need(f"/pool/{pool}", privilege, f"make pool {pool}", "PoolAdmin")
    if managed.mappings:
        yield Need("/mapping/pci", "Mapping.Modify", "make PCI mappings", "Mappings", deep=True)
        for name in sorted(managed.mappings):
            yield Need(f"/mapping/pci/{name}", "Mapping.Modify", f"manage {name}", "Mappings")
    yield from _administration(managed)


def _administration(managed: Managed) -> Iterator[Need]:
    if managed.roles:
        yield Need("/access", "Sys.Modify", "make roles", "Roles")
    for realm in sorted(managed.realms):
        path = f"/access/realm/{realm}"
        yield Need(path, "Realm.AllocateUser", f"add users to realm {realm}", "Realms")
    if managed.realms or managed.tokens:
        yield Need("/access/groups", "User.Modify", "make users and tokens", "Users", deep=True)
    for path in sorted(managed.acl_paths):
        yield Need(path, "Permissions.Modify", f"grant rights on {path}", "Granting")


def roles(wanted: Iterable[Need], prefix: str) -> dict[str, frozenset[str]]:
    """Role → privileges: one role per kind of thing, so that none says more than it must."""
    found: dict[str, set[str]] = {}
    for need in wanted:
        found.setdefault(f"{prefix}{need.role}", set()).add(need.privilege)
    return {name: frozenset(privileges) for name, privileges in found.items()}


def spoken(privileges: frozenset[str], known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Older versions have another name for some; the administrator's role shows which exist."""
    existing = known.get("Administrator")
    if not existing:
        return privileges
    return frozenset(
        RENAMED[name] if name in RENAMED and name not in existing else name for name in privileges
    )


def grants(wanted: Iterable[Need], prefix: str) -> tuple[Grant, ...]:
    found: dict[tuple[str, str], bool] = {}
    for need in wanted:
        key = (need.path, f"{prefix}{need.role}")
        found[key] = found.get(key, False) or need.deep
    return tuple(Grant(path, role, deep) for (path, role), deep in found.items())


def raw_devices(wanted: Wanted) -> tuple[str, ...]:
    """VMs that name PCI addresses: no token may set these, only root@pam itself."""
    return tuple(vm.name for vm in wanted.vms if any(is_address(gpu) for gpu in vm.gpus))

"""The privileges that each call of a plan needs, taken from Proxmox' source call by call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.wanted import Managed, Wanted

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
    # Without it the plan works; only a check cannot read its data, or a repair fails.
    required: bool = True


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


def every_need(wanted: Wanted) -> Iterator[Need]:
    """With duplicates, and with needs that another one covers."""
    vms = tuple(_vms(wanted))
    yield from vms
    # An entry hides what its path inherits: what the plan needs of that VM is granted there again.
    for path in sorted(wanted.managed.acl_paths & wanted.vm_paths):
        yield from (replace(each, path=path, deep=False) for each in vms if each.deep)
    yield from _disks(wanted)
    yield from _images(wanted)
    yield from _nodes(wanted)
    yield from _host(wanted)
    yield from _networks(wanted)
    for name in sorted(wanted.mappings):
        # Also sufficient to see the mapping.
        yield Need(f"/mapping/pci/{name}", "Mapping.Use", f"give VMs the device {name}", "Devices")
    yield from _layer_one(wanted.managed)


def _vms(wanted: Wanted) -> Iterator[Need]:
    rights = dict(VM_RIGHTS)
    isos = wanted.media or any(image.content == "iso" for image in wanted.images)
    if wanted.static_boot or isos:
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
        # Rights on a pool apply to its present and future VMs; the template is in no pool. Tags
        # are checked on the VM itself, before it joins its pool.
        usable = every and privilege not in {"VM.Clone", "VM.Audit", "VM.Config.Options"}
        instead = tuple((f"/pool/{pool}", (privilege,)) for pool in pools) if usable else ()
        yield Need("/vms", privilege, why, "VMs", deep=True, instead=instead)
    for pool in pools:
        path = f"/pool/{pool}"
        # VMs of a hidden pool look as if they were in no pool: each plan would move them there.
        yield Need(path, "Pool.Audit", "see which VMs are in the pool", "Pools")
        yield Need(path, "Pool.Allocate", "put VMs back into the pool", "Pools", required=False)


def _disks(wanted: Wanted) -> Iterator[Need]:
    for storage in sorted({vm.storage for vm in wanted.vms}):
        path = f"/storage/{storage}"
        yield Need(path, "Datastore.AllocateSpace", "create the VMs' disks", "Disks")
        # Every plan reads each disk's format, and owning the disk's VM is not enough for that.
        whole = ((path, ("Datastore.Allocate",)),)
        yield Need(path, "Datastore.Audit", "read the VMs' disks", "Disks", instead=whole)


def _images(wanted: Wanted) -> Iterator[Need]:
    for storage in sorted({image.storage for image in wanted.images}):
        path = f"/storage/{storage}"
        planned = any(i.storage == storage and not i.for_template for i in wanted.images)
        yield Need(
            path, "Datastore.AllocateTemplate", "download Talos images", "Images", required=planned
        )
        if planned:
            yield Need(path, "Datastore.Allocate", "remove images again", "Images")
        space = ((path, ("Datastore.AllocateSpace",)),)
        yield Need(
            path,
            "Datastore.Audit",
            "see the storage and its images",
            "Images",
            instead=space,
            required=planned,
        )
    for storage in wanted.media:
        path = f"/storage/{storage}"
        either = ((path, ("Datastore.AllocateSpace",)), (path, ("Datastore.Allocate",)))
        yield Need(path, "Datastore.Audit", "attach ISOs", "Media", instead=either)


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
        why = "read free memory and cores"
        yield Need(f"/nodes/{host}", "Sys.Audit", why, "Nodes", required=False)


def _host(wanted: Wanted) -> Iterator[Need]:
    if wanted.startup_order:
        # Proxmox asks for this beside VM.Config.Options: the order changes how the host behaves.
        yield Need("/", "Sys.Modify", "set the start order of VMs", "Host")
    if len(wanted.hosts) > 1:
        yield Need("/", "Sys.Audit", "look up high availability before a VM moves", "Host")
    elif any(vm.gpus for vm in wanted.vms):
        either = (("/", ("Sys.Modify",)),)
        yield Need("/", "Sys.Audit", "read PCI devices", "Host", instead=either, required=False)


def _networks(wanted: Wanted) -> Iterator[Need]:
    used = {(vm.bridge, vm.vlan or 0) for vm in wanted.vms}
    for bridge, vlan in sorted(used):
        # With a tag, Proxmox asks for the right on that tag of the bridge.
        path = f"{LOCAL_ZONE}/{bridge}/{vlan}" if vlan else f"{LOCAL_ZONE}/{bridge}"
        yield Need(path, "SDN.Use", f"attach network cards to {bridge}", "Bridges")
    if wanted.template and wanted.template.bridge:
        # Needed to build the template and to clone it: its card has no tag.
        bridge = wanted.template.bridge
        why = f"attach the template's network card to {bridge}"
        yield Need(f"{LOCAL_ZONE}/{bridge}", "SDN.Use", why, "Bridges")
    for bridge in sorted({name for _, name in wanted.managed.bridges}):
        path = f"{LOCAL_ZONE}/{bridge}"
        # A right on a tag of the bridge shows the bridge, too.
        tags = [f"{path}/{vlan}" for name, vlan in sorted(used) if name == bridge and vlan]
        instead = tuple((each, ("SDN.Use",)) for each in (path, *tags))
        yield Need(path, "SDN.Audit", f"see bridge {bridge}", "BridgesSeen", instead=instead)


def _layer_one(managed: Managed) -> Iterator[Need]:
    for host in sorted({host for host, _ in managed.bridges | managed.vlans}):
        yield Need(f"/nodes/{host}", "Sys.Modify", "create bridges and VLANs", "Networks")
    if managed.storages:
        why = "add, change and remove storages"
        yield Need("/storage", "Datastore.Allocate", why, "Storages")
    for name in sorted(managed.storages):
        why = f"read the settings of storage {name}"
        yield Need(f"/storage/{name}", "Datastore.Allocate", why, "Storages")
    for pool in sorted(managed.pools):
        yield Need(f"/pool/{pool}", "Pool.Allocate", f"manage pool {pool}", "PoolAdmin")
    if managed.mappings:
        why = "create and remove PCI mappings"
        yield Need("/mapping/pci", "Mapping.Modify", why, "Mappings")
    for name in sorted(managed.mappings):
        yield Need(f"/mapping/pci/{name}", "Mapping.Modify", f"change mapping {name}", "Mappings")
    yield from _administration(managed)


def _administration(managed: Managed) -> Iterator[Need]:
    if managed.roles:
        yield Need("/access", "Sys.Modify", "create roles", "Roles")
    for realm in sorted(managed.realms):
        path = f"/access/realm/{realm}"
        yield Need(path, "Realm.AllocateUser", f"add users to realm {realm}", "Realms")
    if managed.realms or managed.tokens:
        yield Need("/access/groups", "User.Modify", "create users and tokens", "Users")
    for path in sorted(managed.acl_paths):
        yield Need(path, "Permissions.Modify", f"grant rights on {path}", "Granting")

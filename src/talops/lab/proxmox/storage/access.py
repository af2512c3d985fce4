"""Who may read a volume, and who sees a bridge: rules that depend on more than one path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import PveError, failed
from talops.lab.proxmox.storage.names import read_name, split_id

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

LOCAL_ZONE = "/sdn/zones/localnetwork"
FILES = frozenset({"iso", "vztmpl", "import"})
READ = ("Datastore.AllocateSpace", "Datastore.Audit")


def need_volume(call: Call, volid: str, vmid: int | None = None) -> None:
    """Refuse unless the caller may read the volume; `vmid` may use the volumes with its number."""
    storage, name = split_id(volid)
    if not storage:
        if not call.is_root:
            raise failed("Only root can pass arbitrary filesystem paths.")
        return
    found = read_name(call.pve.storages.get(storage)["type"], name)
    if call.may(f"/storage/{storage}", "Datastore.Allocate"):
        return
    if found.content in FILES:
        call.need(f"/storage/{storage}", *READ, any_of=True)
    elif found.owner and found.owner == vmid:
        return
    elif found.content == "backup" and found.owner:
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
        call.need(f"/vms/{found.owner}", "VM.Backup")
    elif found.content == "images" and found.owner:
        call.need(f"/storage/{storage}", "Datastore.Audit")
        call.need(f"/vms/{found.owner}", "VM.Config.Disk")
    else:
        raise failed(f"missing privileges to access {volid}")


def may_read(call: Call, volid: str) -> bool:
    try:
        need_volume(call, volid)
    except PveError:
        return False
    return True


def sees_bridge(call: Call, bridge: str, *privileges: str) -> bool:
    """On the bridge, or on any of its VLANs that an ACL names."""
    place = f"{LOCAL_ZONE}/{bridge}"
    below = {e["path"] for e in call.pve.acl.values() if e["path"].startswith(f"{place}/")}
    return any(call.may(path, *privileges, any_of=True) for path in (place, *below))

"""What changing a VM asks of the caller, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.disks import is_new, storage_of
from talops.lab.proxmox.drives import is_cdrom, is_cloudinit, is_drive, parse, parse_drive
from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.vmparams import kind, right_for
from talops.lab.proxmox.volaccess import LOCAL_ZONE, need_volume
from talops.lab.proxmox.volnames import read_name, split_id

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

# The right depends on the value, so a key that the VM does not have asks for none.
BY_VALUE = frozenset({"unused", "serial", "usb", "hostpci", "virtiofs"})


def check_create(call: Call, config: dict[str, Any], vmid: int, pool: str | None) -> None:
    """A new VM's drives ask for space on their storages, not for rights on the VM."""
    if call.is_root:
        return
    for key, value in config.items():
        if is_drive(key):
            _check_volume(call, value, vmid)
        else:
            _check_key(call, key, value, vmid, pool)


def check_update(call: Call, changes: dict[str, Any], current: dict[str, Any], vmid: int) -> None:
    if call.is_root:
        return
    for key, value in changes.items():
        if is_drive(key):
            _need(call, vmid, None, *_drive_rights(value))
            _check_volume(call, value, vmid)
        else:
            _check_key(call, key, value, vmid, None)
        if is_drive(key) and key in current:
            _need(call, vmid, None, *_drive_rights(parse_drive(key, current[key])))


def check_delete(call: Call, keys: list[str], current: dict[str, Any], vmid: int) -> None:
    if call.is_root:
        return
    for key in keys:
        value = current.get(key)
        if is_drive(key):
            if value is not None:
                _need(call, vmid, None, *_drive_rights(parse_drive(key, value)))
        elif value is not None or kind(key) not in BY_VALUE:
            _check_key(call, key, value or "", vmid, None)


def _check_key(call: Call, key: str, value: Any, vmid: int, pool: str | None) -> None:
    right = right_for(key)
    if right is None:
        raise failed(f"only root can set '{key}' config")
    _check_value(call, key, str(value))
    if right == "VM.Config.Cloudinit":
        _need(call, vmid, pool, right, "VM.Config.Network", any_of=True)
    else:
        _need(call, vmid, pool, right)
    if key == "startup":  # it changes how the host behaves
        call.need("/", "Sys.Modify")


def _check_value(call: Call, key: str, value: str) -> None:
    if kind(key) == "hostpci":
        mapping = parse(value, "host").get("mapping")
        if not mapping:
            raise failed(f"only root can set '{key}' config for non-mapped devices")
        call.need(f"/mapping/pci/{mapping}", "Mapping.Use")
    elif kind(key) == "serial" and value != "socket":
        raise failed(f"only root can set '{key}' config for real devices")
    elif kind(key) == "net" and value:
        _check_bridge(call, value)


def _drive_rights(drive: dict[str, str]) -> tuple[str, ...]:
    if is_cloudinit(drive):
        return ("VM.Config.Cloudinit", "VM.Config.CDROM")
    return ("VM.Config.CDROM",) if is_cdrom(drive) else ("VM.Config.Disk",)


def _need(call: Call, vmid: int, pool: str | None, *rights: str, any_of: bool = False) -> None:
    if pool and call.may(f"/pool/{pool}", *rights, any_of=any_of):
        return
    call.need(f"/vms/{vmid}", *rights, any_of=any_of)


def _check_volume(call: Call, drive: dict[str, str], vmid: int) -> None:
    storage = storage_of(drive)
    if drive["file"] == "cdrom":
        call.need("/", "Sys.Console")
    elif storage is None or is_cloudinit(drive):
        return
    elif is_new(drive):
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
    else:
        need_volume(call, drive["file"], vmid)
    if "import-from" in drive:
        _check_source(call, drive["import-from"], vmid)


def _check_source(call: Call, volid: str, vmid: int) -> None:
    """Another VM's disk is copied as in a clone; everything else is read."""
    storage, name = split_id(volid)
    owner = read_name(call.pve.storages.get(storage)["type"], name).owner if storage else 0
    if owner:
        call.need(f"/vms/{owner}", "VM.Clone")
    else:
        need_volume(call, volid, vmid)


def _check_bridge(call: Call, net: str) -> None:
    options = parse(net, "model")
    if "bridge" in options:
        tag = f"/{options['tag']}" if "tag" in options else ""
        call.need(f"{LOCAL_ZONE}/{options['bridge']}{tag}", "SDN.Use")

"""The privileges that changing a VM requires, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.access import LOCAL_ZONE, need_volume
from talops.lab.proxmox.storage.allocation import is_new, need_images, storage_of
from talops.lab.proxmox.storage.names import read_name, split_id
from talops.lab.proxmox.vm.drives import is_cdrom, is_cloudinit, is_drive, parse, parse_drive
from talops.lab.proxmox.vm.params import kind, right_for

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

# The privilege depends on the value, so a key that the VM does not have needs none.
BY_VALUE = frozenset({"unused", "serial", "usb", "hostpci", "virtiofs", "rng"})
# Checked after the plain keys, in this order, because each check reads the value.
LATER = ("serial", "usb", "hostpci", "rng", "virtiofs")


def check_create(call: Call, config: dict[str, Any], vmid: int, pool: str | None) -> None:
    """A new VM's drives require space on their storages, not privileges on the VM."""
    drives = sorted(key for key in config if is_drive(key))
    for key in drives:
        _check_volume(call, key, config[key], vmid)
    keys = [key for key in config if not is_drive(key)]
    for key in sorted(
        keys, key=lambda key: LATER.index(kind(key)) + 1 if kind(key) in LATER else 0
    ):
        _check_key(call, key, config[key], vmid, pool)
    _check_bridges(call, config)


def check_update(call: Call, changes: dict[str, Any], vmid: int) -> None:
    """Checks that do not need the VM."""
    for key, value in changes.items():
        if not is_drive(key) and kind(key) not in BY_VALUE:
            _check_key(call, key, value, vmid, None)
    for key in sorted(key for key in changes if is_drive(key)):
        _check_volume(call, key, changes[key], vmid)
    _check_bridges(call, changes)


def check_change(call: Call, changes: dict[str, Any], current: dict[str, Any], vmid: int) -> None:
    """The privileges for the present and the new values."""
    for key, value in changes.items():
        before = current.get(key)
        if is_drive(key):
            if before:
                _need(call, vmid, None, *_drive_rights(parse_drive(before)))
            _need(call, vmid, None, *_drive_rights(value))
        elif kind(key) in BY_VALUE:
            if before is not None:
                _check_key(call, key, before, vmid, None)
            _check_key(call, key, value, vmid, None)
        elif kind(key) == "net" and before:
            _check_bridges(call, {key: before})


def check_delete(call: Call, keys: list[str], vmid: int) -> None:
    for key in keys:
        if not is_drive(key) and kind(key) not in BY_VALUE:
            _check_key(call, key, "", vmid, None)


def check_gone(call: Call, key: str, value: Any, vmid: int) -> None:
    """The privilege to remove what the VM has."""
    if is_drive(key):
        _need(call, vmid, None, *_drive_rights(parse_drive(value)))
    elif kind(key) in BY_VALUE:
        _check_key(call, key, value, vmid, None)
    elif kind(key) == "net":
        _check_bridges(call, {key: value})


def _check_key(call: Call, key: str, value: Any, vmid: int, pool: str | None) -> None:
    if call.is_root:
        return
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
        device = parse(value, "host")
        if "host" in device:
            raise failed(f"only root can set '{key}' config for non-mapped devices")
        if "mapping" not in device:
            raise failed("either 'host' or 'mapping' must be set.")
        call.need(f"/mapping/pci/{device['mapping']}", "Mapping.Use")
    elif kind(key) == "serial" and value != "socket":
        raise failed(f"only root can set '{key}' config for real devices")
    elif kind(key) == "usb":
        device = parse(value, "host")
        if "host" in device and device["host"].lower() != "spice":
            raise failed(f"only root can set '{key}' config for real devices")
        if "host" not in device and "mapping" in device:
            call.need(f"/mapping/usb/{device['mapping']}", "Mapping.Use")


def _drive_rights(drive: dict[str, str]) -> tuple[str, ...]:
    if is_cloudinit(drive):
        return ("VM.Config.Cloudinit", "VM.Config.CDROM")
    return ("VM.Config.CDROM",) if is_cdrom(drive) else ("VM.Config.Disk",)


def _need(call: Call, vmid: int, pool: str | None, *rights: str, any_of: bool = False) -> None:
    if pool and call.may(f"/pool/{pool}", *rights, any_of=any_of):
        return
    call.need(f"/vms/{vmid}", *rights, any_of=any_of)


def _check_volume(call: Call, key: str, drive: dict[str, str], vmid: int) -> None:
    storage = storage_of(drive)
    if drive["file"] == "none" or is_cloudinit(drive):
        pass
    elif drive["file"] == "cdrom":
        call.need("/", "Sys.Console")
    elif is_new(drive) and storage and not is_cdrom(drive):
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
        need_images(call.pve.storages, storage, call.node)
    else:
        need_volume(call, drive["file"], vmid)
        _need_kind(call, key, drive["file"])
    if "import-from" in drive:
        _check_source(call, key, drive["import-from"], vmid)


def _need_kind(call: Call, key: str, volid: str) -> None:
    storage, name = split_id(volid)
    if not storage:
        return
    content = read_name(call.pve.storages.get(storage)["type"], name).content
    if content not in {"images", "iso"}:
        raise invalid({key: "content type needs to be 'images' or 'iso'"})


def _check_source(call: Call, key: str, volid: str, vmid: int) -> None:
    """Another VM's disk is copied as in a clone; all other sources are read."""
    storage, name = split_id(volid)
    owner = 0
    if storage:
        found = read_name(call.pve.storages.get(storage)["type"], name)
        if found.content not in {"images", "import"}:
            wanted = "needs to be 'images' or 'import'"
            raise invalid({key: f"{volid} has wrong type '{found.content}' - {wanted}"})
        owner = found.owner
    if owner:
        call.need(f"/vms/{owner}", "VM.Clone")
    else:
        need_volume(call, volid, vmid)


def _check_bridges(call: Call, config: dict[str, Any]) -> None:
    """The privilege on a bridge, or on each VLAN of it that the card uses."""
    if call.is_root:
        return
    for key in sorted(key for key in config if kind(key) == "net"):
        options = parse(str(config[key]), "model")
        if "bridge" not in options:
            continue
        place = f"{LOCAL_ZONE}/{options['bridge']}"
        trunks = _tags(options.get("trunks", ""))
        for tag in [*([int(options["tag"])] if "tag" in options else []), *trunks]:
            call.need(f"{place}/{tag}", "SDN.Use")
        if not trunks and "tag" not in options:
            call.need(place, "SDN.Use")


def _tags(trunks: str) -> list[int]:
    found: set[int] = set()
    for part in split_list(trunks):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return sorted(found)


def check_devices(call: Call, config: dict[str, Any]) -> None:
    """What a clone inherits from its source: mapped devices and bridges."""
    if call.is_root:
        return
    for key, value in config.items():
        if kind(key) in {"hostpci", "usb"}:
            _check_value(call, key, str(value))
    _check_bridges(call, config)

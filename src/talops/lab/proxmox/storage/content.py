"""The content of a storage: list, read, allocate and free volumes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage.access import may_read, need_volume
from talops.lab.proxmox.storage.names import FILE_TYPES, VolumeName, read_name, split_id
from talops.lab.proxmox.storage.volumes import Volume

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.tasks import Task

NO_FORMATS = {
    "lvmthin": " at /usr/share/perl5/PVE/Storage/LvmThinPlugin.pm line 102.",
    "zfspool": " at /usr/share/perl5/PVE/Storage/ZFSPoolPlugin.pm line 224.",
}
UNITS = {"": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@route("GET", "/nodes/{node}/storage/{storage}/content")
def list_content(call: Call) -> list[dict[str, Any]]:
    name = call.params["storage"]
    entry = call.pve.storages.on_node(name, call.node)
    kind, held = entry["type"], set(str(entry.get("content", "")).split(","))
    rows = []
    for volume in call.pve.storages.listing(name, call.node):
        if call.get("content") not in {None, volume.content} or volume.content not in held:
            continue
        if call.get("vmid") not in {None, volume.vmid}:
            continue
        if may_read(call, volume.volid):
            rows.append(_row(volume, kind))
    return sorted(rows, key=lambda row: str(row["volid"]))


def _row(volume: Volume, kind: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "volid": volume.volid,
        "content": volume.content,
        "format": volume.format,
        "size": volume.size,
        "ctime": str(volume.ctime) if kind in {"lvm", "lvmthin"} else volume.ctime,
    }
    if volume.vmid:
        row["vmid"] = volume.vmid
    if kind in FILE_TYPES and volume.content in {"images", "import"}:
        row |= {"used": volume.used, "parent": volume.base or None}
    elif volume.base:
        row["parent"] = volume.base
    return row


def _place(call: Call) -> tuple[str, VolumeName]:
    """The volume's full id, and the parts of its name; the storage may be named twice."""
    storage, volume = str(call.params["storage"]), str(call.params["volume"])
    volid = volume if ":" in volume else f"{storage}:{volume}"
    sid, name = split_id(volid)
    if not sid:
        raise invalid({"volume": f"unable to parse volume ID '{volid}'\n"})
    if sid != storage:
        raise invalid({"volume": f"storage ID mismatch ({sid} != {storage})\n"})
    return volid, read_name(call.pve.storages.get(sid)["type"], name)


@route("GET", "/nodes/{node}/storage/{storage}/content/{volume}")
def read_volume(call: Call) -> dict[str, Any]:
    volid, name = _place(call)
    need_volume(call, volid)
    volume = call.pve.storages.find(volid, call.node)
    if volume is None:
        raise failed(no_size(call, volid))
    return {
        "path": call.pve.storages.host_path(volume),
        "size": volume.size,
        "used": 0 if call.pve.storages.get(volume.storage)["type"] == "lvmthin" else volume.used,
        "format": name.format,
    }


def no_size(call: Call, volid: str) -> str:
    """The error of a storage when the size of a missing volume is read."""
    storage, name = split_id(volid)
    entry = call.pve.storages.get(storage)
    if entry["type"] in FILE_TYPES:
        return f"volume_size_info on '{volid}' failed - no format"
    if entry["type"] == "zfspool":
        where = f"{entry.get('pool')}/{name.split('/')[-1]}"
        return f"zfs error: cannot open '{where}': dataset does not exist"
    where = f"{entry.get('vgname')}/{name}"
    return f"can't get size of '/dev/{where}':   Failed to find logical volume \"{where}\""


@route("POST", "/nodes/{node}/storage/{storage}/content")
def allocate(call: Call) -> str:
    storages, storage, vmid = call.pve.storages, call.params["storage"], call.params["vmid"]
    entry = storages.on_node(storage, call.node)
    filename, wanted = call.params["filename"], call.get("format")
    suffix = re.search(r"\.(raw|qcow2|vmdk)$", filename)
    if suffix and wanted not in {None, suffix[1]}:
        raise invalid({"format": f"different storage formats ({wanted} != {suffix[1]})"})
    files = entry["type"] in FILE_TYPES
    format_ = (suffix[1] if suffix else wanted) or "raw"
    if not files and format_ != "raw":
        raise failed(f"unsupported format '{format_}'{NO_FORMATS.get(entry['type'], '')}")
    if "/" in filename:
        raise failed(f"unable to parse volume filename '{filename}'")
    if not files and not filename.startswith(f"vm-{vmid}-"):
        raise failed(f"illegal name '{filename}' - should be 'vm-{vmid}-*'")
    volid = f"{storage}:{vmid}/{filename}" if files else f"{storage}:{filename}"
    if storages.find(volid, call.node):
        path = storages.path_of(volid, "images")
        raise failed(
            f"disk image '{path}' already exists" if files else f"volume '{volid}' already exists"
        )
    match = re.fullmatch(r"(\d+)([MG]?)", call.params["size"])
    size = storages.rounded(storage, int(match[1]) * UNITS[match[2]] if match else 0)
    used = size if storages.thick(storage) else 0
    storages.reserve(storage, call.node, used, filename)
    where = "" if storages.shared(storage) else call.node
    now = int(call.pve.clock.now())
    made = Volume(volid, where, "images", format_, size, used, vmid, now)
    storages.volumes.put(made.key, made)
    return volid


@route("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}")
def delete_volume(call: Call) -> str:
    volid, name = _place(call)
    storage = split_id(volid)[0]
    if name.content == "backup" and name.owner:
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
        call.need(f"/vms/{name.owner}", "VM.Backup")
    else:
        call.need(f"/storage/{storage}", "Datastore.Allocate")

    async def work(task: Task) -> None:
        await task.step("remove")
        call.pve.storages.on_node(storage, call.node)
        volume = call.pve.storages.find(volid, call.node)
        if volume:
            call.pve.storages.remove(volume)
        elif call.pve.storages.get(storage)["type"] in FILE_TYPES:
            path = call.pve.storages.path_of(volid, name.content)
            task.log(f"disk image '{path}' does not exist")
        task.log(f"Removed volume '{volid}'")

    return call.start("imgdel", f"{name.owner}@{storage}" if name.owner else storage, work)

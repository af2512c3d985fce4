"""The storage calls: configuration, state per node, content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.volaccess import may_read, need_volume

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.tasks import Task
    from talops.lab.proxmox.volumes import Volume

SEE = ("Datastore.Audit", "Datastore.AllocateSpace")
SEE_ONE = perm("/storage/{storage}", *SEE, any_of=True)
MANAGE = perm("/storage", "Datastore.Allocate")
OPTIONS = """
content:str content-dirs:str nodes:str disable:bool shared:bool path:str pool:str sparse:bool
blocksize:str mountpoint:str vgname:str thinpool:str base:str saferemove:bool
saferemove_throughput:str server:str export:str options:str share:str username:str password:str
domain:str smbversion:str subdir:str datastore:str namespace:str fingerprint:str port:int
encryption-key:str master-pubkey:str monhost:str krbd:bool keyring:str fs-name:str fuse:bool
is_mountpoint:str mkdir:bool create-base-path:bool create-subdirs:bool nocow:bool
preallocation=off|metadata|falloc|full prune-backups:str max-protected-backups:int bwlimit:str
format=raw|qcow2|subvol|vmdk portal:str target:str tagged_only:bool snapshot-as-volume-chain:bool
"""
TYPES = "btrfs|cephfs|cifs|dir|esxi|iscsi|iscsidirect|lvm|lvmthin|nfs|pbs|rbd|zfs|zfspool"
# What each type cannot do without.
NEEDED = {
    "dir": ("path",),
    "btrfs": ("path",),
    "nfs": ("server", "export"),
    "cifs": ("server", "share"),
    "lvm": ("vgname",),
    "lvmthin": ("vgname", "thinpool"),
    "zfspool": ("pool",),
    "pbs": ("server", "datastore"),
}
CONTENT = {
    "dir": "images,rootdir,vztmpl,iso,backup,snippets,import,none",
    "btrfs": "images,rootdir,vztmpl,iso,backup,snippets,import,none",
    "nfs": "images,rootdir,vztmpl,iso,backup,snippets,import,none",
    "cifs": "images,rootdir,vztmpl,iso,backup,snippets,import,none",
    "lvm": "images,rootdir,none",
    "lvmthin": "images,rootdir,none",
    "zfspool": "images,rootdir,none",
    "pbs": "backup,none",
}
DEFAULT_CONTENT = {"dir": "images,rootdir,vztmpl,iso,backup,snippets", "pbs": "backup"}
FIXED = ("path", "server", "export", "vgname", "thinpool", "pool", "share", "datastore")


def visible(call: Call, storage: str) -> bool:
    return call.may(f"/storage/{storage}", *SEE, any_of=True)


# -- configuration -----------------------------------------------------------------------------


@route("GET", "/storage", f"type={TYPES}")
def list_config(call: Call) -> list[dict[str, Any]]:
    entries = call.pve.storages.config.values()
    wanted = call.get("type")
    return [
        _shown(entry)
        for entry in entries
        if visible(call, entry["storage"]) and wanted in {None, entry["type"]}
    ]


@route("GET", "/storage/{storage}", "", perm("/storage/{storage}", "Datastore.Allocate"))
def read_config(call: Call) -> dict[str, Any]:
    return _shown(call.pve.storages.get(call.params["storage"]))


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    hidden = {"password", "encryption-key", "keyring"}
    return {key: value for key, value in entry.items() if key not in hidden}


@route("POST", "/storage", f"storage!:str type!={TYPES} {OPTIONS}", MANAGE)
def create(call: Call) -> dict[str, Any]:
    name, kind = call.params["storage"], call.params["type"]
    if name in call.pve.storages.config:
        raise failed(f"create storage failed: storage ID '{name}' already defined")
    missing = [key for key in NEEDED.get(kind, ()) if key not in call.params]
    if missing:
        raise invalid(dict.fromkeys(missing, "property is missing and it is not optional"))
    entry = {"content": DEFAULT_CONTENT.get(kind, "images,rootdir"), **call.params}
    _check_content(kind, entry["content"])
    if kind in {"dir", "btrfs"}:
        entry.setdefault("create-base-path", 1)
        entry.setdefault("create-subdirs", 1)
        entry.setdefault("shared", 0)
    if kind in {"nfs", "cifs"}:
        entry.setdefault("path", f"/mnt/pve/{name}")
    _check_nodes(call, entry)
    call.pve.storages.config.put(name, {**entry, "digest": "0"})
    return {"storage": name, "type": kind}


def _check_content(kind: str, content: str) -> None:
    allowed = CONTENT.get(kind, "").split(",")
    for name in content.split(","):
        if allowed != [""] and name not in allowed:
            raise failed(
                f"create storage failed: storage type '{kind}' does not support content '{name}'"
            )


def _check_nodes(call: Call, entry: dict[str, Any]) -> None:
    for node in str(entry.get("nodes", "")).split(","):
        if node and node not in call.pve.nodes:
            raise failed(f"node '{node}' does not exist")


@route("PUT", "/storage/{storage}", f"delete:str digest:str {OPTIONS}", MANAGE)
def change(call: Call) -> dict[str, Any]:
    entry = dict(call.pve.storages.get(call.params["storage"]))
    for name in str(call.get("delete", "")).split(","):
        entry.pop(name, None)
    changes = {k: v for k, v in call.params.items() if k not in {"delete", "digest", "storage"}}
    fixed = next((k for k in FIXED if k in changes and changes[k] != entry.get(k)), None)
    if fixed:
        raise failed(f"can't change value of fixed parameter '{fixed}'")
    entry |= changes
    _check_content(entry["type"], str(entry.get("content", "none")))
    _check_nodes(call, entry)
    call.pve.storages.config.put(entry["storage"], entry)
    return {"storage": entry["storage"], "type": entry["type"]}


@route("DELETE", "/storage/{storage}", "", MANAGE)
def remove(call: Call) -> None:
    """Only the entry goes: what lies on the storage stays where it is."""
    call.pve.storages.get(call.params["storage"])
    call.pve.storages.config.drop(call.params["storage"])


# -- per node ----------------------------------------------------------------------------------


@route(
    "GET", "/nodes/{node}/storage", "content:str enabled:bool format:bool storage:str target:str"
)
def list_on_node(call: Call) -> list[dict[str, Any]]:
    rows = []
    for entry in call.pve.storages.available(call.node):
        name = entry["storage"]
        if not visible(call, name) or call.get("storage") not in {None, name}:
            continue
        if call.get("enabled") and entry.get("disable"):
            continue
        wanted = {text for text in str(call.get("content", "")).split(",") if text}
        if wanted and not wanted & set(str(entry.get("content", "")).split(",")):
            continue
        status = call.pve.storages.status(name, call.node)
        rows.append({"storage": name, **status, "used_fraction": status["used"] / status["total"]})
    return rows


@route("GET", "/nodes/{node}/storage/{storage}/status", "", SEE_ONE)
def status_on_node(call: Call) -> dict[str, Any]:
    name = call.params["storage"]
    if name not in {entry["storage"] for entry in call.pve.storages.available(call.node)}:
        raise invalid({"storage": "No such storage."})
    return call.pve.storages.status(name, call.node)


# -- content -----------------------------------------------------------------------------------


@route("GET", "/nodes/{node}/storage/{storage}/content", "content:str vmid:int", SEE_ONE)
def list_content(call: Call) -> list[dict[str, Any]]:
    name = call.params["storage"]
    call.pve.storages.on_node(name, call.node)
    rows = []
    for volume in call.pve.storages.listing(name, call.node):
        if call.get("content") not in {None, volume.content}:
            continue
        if call.get("vmid") not in {None, volume.vmid}:
            continue
        if may_read(call, volume.volid):
            rows.append(_row(volume))
    return sorted(rows, key=lambda row: str(row["volid"]))


def _row(volume: Volume) -> dict[str, Any]:
    row: dict[str, Any] = {
        "volid": volume.volid,
        "content": volume.content,
        "format": volume.format,
        "size": volume.size,
        "ctime": volume.ctime,
    }
    if volume.vmid:
        row["vmid"] = volume.vmid
    if volume.base:
        row["parent"] = volume.base
    return row


def full_id(call: Call) -> str:
    volume = str(call.params["volume"])
    return volume if ":" in volume else f"{call.params['storage']}:{volume}"


@route("GET", "/nodes/{node}/storage/{storage}/content/{volume}")
def read_volume(call: Call) -> dict[str, Any]:
    need_volume(call, full_id(call))
    volume = call.pve.storages.volume(full_id(call), call.node)
    return {
        "path": call.pve.storages.host_path(volume),
        "size": volume.size,
        "used": volume.used,
        "format": volume.format,
    }


@route("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", "delay:int:1..30")
def delete_volume(call: Call) -> str:
    volid = full_id(call)
    call.need(f"/storage/{volid.split(':')[0]}", "Datastore.Allocate")
    call.pve.storages.on_node(volid.split(":")[0], call.node)

    async def work(task: Task) -> None:
        await task.step("remove")
        volume = call.pve.storages.find(volid, call.node)
        if volume is None:
            name = volid.split(":", 1)[1]
            raise failed(f"unable to remove '{name}': No such file or directory")
        call.pve.storages.remove(volume)
        task.log(f"Removed volume '{volid}'")

    return call.start("imgdel", volid.replace(":", "@").replace("/", "-"), work)

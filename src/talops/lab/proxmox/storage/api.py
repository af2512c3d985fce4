"""Storages from the view of one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.config import visible

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call


SUBDIRS = (
    "content", "download-url", "file-restore", "identity", "import-metadata", "oci-registry-pull",
    "prunebackups", "rrd", "rrddata", "status", "upload",
)  # fmt: skip
IMAGE_FORMATS: dict[str, tuple[str, ...]] = {
    "lvm": ("qcow2", "raw"),
    "lvmthin": ("raw",),
    "rbd": ("raw",),
    "zfspool": ("raw", "subvol"),
    "btrfs": ("qcow2", "raw", "subvol", "vmdk"),
    "nfs": ("qcow2", "raw", "vmdk"),
    "cifs": ("qcow2", "raw", "vmdk"),
}


def _status(call: Call, name: str) -> dict[str, Any]:
    status = call.pve.storages.status(name, call.node)
    if not call.pve.storages.reaches(name, call.node):
        status |= {"enabled": 0, "active": 0}
    if not status["active"]:
        status |= {"total": 0, "used": 0, "avail": 0}
    return {**status, "content": call.pve.mixed(status["content"])}


@route("GET", "/nodes/{node}/storage")
def list_on_node(call: Call) -> list[dict[str, Any]]:
    rows = []
    wanted = set(split_list(str(call.get("content", ""))))
    if call.get("storage") and call.params["storage"] not in call.pve.storages.config:
        raise invalid({"storage": "No such storage."})
    for name, entry in call.pve.storages.config.items():
        if not visible(call, name) or call.get("storage") not in {None, name}:
            continue
        if call.get("enabled") and entry.get("disable"):
            continue
        status = _status(call, name)
        held = set(split_list(str(entry.get("content", ""))))
        if wanted and not (wanted & held and status["enabled"]):
            continue
        if _unreachable(call, name):
            continue
        share = status["used"] / status["total"] if status["total"] else None
        fraction = {} if share is None else {"used_fraction": share}
        formats = _formats(entry["type"]) if call.get("format") else {}
        rows.append({"storage": name, **status, **fraction, **formats})
    return call.pve.shuffled(rows)


def _formats(kind: str) -> dict[str, Any]:
    """What an image may be there; the default is raw everywhere."""
    known = IMAGE_FORMATS.get(kind, ("qcow2", "raw", "subvol", "vmdk"))
    return {
        "format": [dict.fromkeys(known, 1), "raw"],
        "formats": {"default": "raw", "supported": list(known)},
    }


def _unreachable(call: Call, name: str) -> bool:
    """With a target, lists only what both nodes reach."""
    target = call.get("target")
    if not target or target in {call.node, "localhost"}:
        return False
    storages = call.pve.storages
    both = storages.reaches(name, call.node) and storages.reaches(name, target)
    return not (both and storages.shared(name))


@route("GET", "/nodes/{node}/storage/{storage}")
def index(_: Call) -> list[dict[str, str]]:
    return [{"subdir": name} for name in SUBDIRS]


@route("GET", "/nodes/{node}/storage/{storage}/status")
def status_on_node(call: Call) -> dict[str, Any]:
    name = call.params["storage"]
    if name not in call.pve.storages.config:
        raise invalid({"storage": "No such storage."})
    return _status(call, name)

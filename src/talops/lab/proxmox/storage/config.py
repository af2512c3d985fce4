"""The storage configuration of an installation: definitions and their options."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, modified, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.storages import ALWAYS_SHARED

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

SEE = ("Datastore.Audit", "Datastore.AllocateSpace")
ALL = "images rootdir vztmpl iso backup snippets import none"
FILES = "content-dirs prune-backups max-protected-backups format mkdir create-base-path"
FILES += " create-subdirs preallocation"
# Per type: required options, allowed options, and allowed content.
KINDS: dict[str, tuple[str, str, str]] = {
    "dir": ("path", f"shared is_mountpoint {FILES}", ALL),
    "btrfs": ("path", f"shared is_mountpoint nocow {FILES}", ALL),
    "nfs": ("server export", f"path options {FILES}", ALL),
    "cifs": (
        "server share",
        f"path options username password domain smbversion subdir {FILES}",
        ALL,
    ),
    "lvm": (
        "vgname",
        "shared saferemove saferemove_throughput base tagged_only",
        "images rootdir none",
    ),
    "lvmthin": ("vgname thinpool", "", "images rootdir"),
    "zfspool": ("pool", "blocksize sparse mountpoint", "images rootdir"),
    "pbs": (
        "server datastore",
        "namespace username password fingerprint port encryption-key master-pubkey prune-backups",
        "backup none",
    ),
}
COMMON = frozenset({"type", "storage", "nodes", "disable", "content", "bwlimit"})
DEFAULT_CONTENT = {"pbs": "backup", **dict.fromkeys(("nfs", "cifs", "lvm", "rbd"), "images")}
NO_CONTENT = "images,rootdir"
FIXED = ("path", "server", "export", "vgname", "thinpool", "pool", "share", "datastore", "base")


def visible(call: Call, storage: str) -> bool:
    return call.may(f"/storage/{storage}", *SEE, any_of=True)


@route("GET", "/storage")
def list_config(call: Call) -> list[dict[str, Any]]:
    wanted = call.get("type")
    return [
        _shown(call, entry)
        for name, entry in sorted(call.pve.storages.config.items())
        if visible(call, name) and wanted in {None, entry["type"]}
    ]


@route("GET", "/storage/{storage}")
def read_config(call: Call) -> dict[str, Any]:
    return _shown(call, call.pve.storages.get(call.params["storage"]))


def _shown(call: Call, entry: dict[str, Any]) -> dict[str, Any]:
    hidden = {"password", "encryption-key", "keyring", "digest"}
    shown = {key: value for key, value in entry.items() if key not in hidden}
    if "content" in shown:
        shown["content"] = call.pve.mixed(shown["content"])
    if entry["type"] in ALWAYS_SHARED:
        shown["shared"] = 1
    return {**shown, "digest": _digest(call)}


def _digest(call: Call) -> str:
    every = dict(sorted(call.pve.storages.config.items()))
    return hashlib.sha1(json.dumps(every).encode(), usedforsecurity=False).hexdigest()


@route("POST", "/storage")
def create(call: Call) -> dict[str, Any]:
    name, kind = call.params["storage"], call.params["type"]
    given = {key: value for key, value in call.params.items() if key != "nodes" or value}
    _check_options(kind, given)
    needed = KINDS[kind][0].split() if kind in KINDS else []
    missing = next((key for key in needed if key not in given), None)
    if missing:
        raise failed(f"missing value for required option '{missing}'")
    entry = {"content": DEFAULT_CONTENT.get(kind, NO_CONTENT), **given}
    entry["content"] = _content(kind, str(entry["content"]))
    with prefixed("create storage failed"):
        if name in call.pve.storages.config:
            raise failed(f"storage ID '{name}' already defined")
    if kind in {"nfs", "cifs"}:
        entry.setdefault("path", f"/mnt/pve/{name}")
    call.pve.storages.config.put(name, entry)
    made: dict[str, Any] = {"config": {}} if kind == "pbs" else {}
    return {"storage": name, "type": kind, **made}


def _check_options(kind: str, given: dict[str, Any]) -> None:
    if kind not in KINDS:
        return
    known = COMMON | set(KINDS[kind][0].split()) | set(KINDS[kind][1].split())
    unknown = next((key for key in given if key not in known), None)
    if unknown:
        raise failed(f"unexpected property '{unknown}'")


def _content(kind: str, content: str) -> str:
    """The content types that the type allows; others are ignored with a warning in the log."""
    allowed = KINDS[kind][2].split() if kind in KINDS else split_list(content)
    held = [name for name in dict.fromkeys(split_list(content)) if name in allowed]
    if "none" in held and len(held) > 1:
        raise failed("unable to combine 'none' with other content types")
    if not held and "none" not in allowed:
        raise failed("storage does not support content type 'none'")
    return ",".join(held)


@route("PUT", "/storage/{storage}")
def change(call: Call) -> dict[str, Any]:
    with prefixed("update storage failed"):
        entry = dict(call.pve.storages.get(call.params["storage"]))
        if call.get("digest") not in {None, "", _digest(call)}:
            raise modified()
        kind = entry["type"]
        removed = split_list(str(call.get("delete", "")))
        skip = {"delete", "digest", "storage"}
        changes = {k: v for k, v in call.params.items() if k not in skip}
        fixed = next((k for k in FIXED if k in changes), None)
        if fixed:
            raise failed(f"can't change value of fixed parameter '{fixed}'")
        _check_options(kind, changes)
        if "content" in changes:
            changes["content"] = _content(kind, changes["content"])
        _check_removed(kind, removed, changes)
    for name in removed:
        entry.pop(name, None)
    entry.setdefault("content", DEFAULT_CONTENT.get(kind, NO_CONTENT))
    if changes.get("disable") == 0:
        changes.pop("disable")
        entry.pop("disable", None)
    call.pve.storages.config.put(entry["storage"], entry | changes)
    return {"storage": entry["storage"], "type": kind}


def _check_removed(kind: str, removed: list[str], changes: dict[str, Any]) -> None:
    needed, optional, _ = KINDS.get(kind, ("", "", ""))
    for name in removed:
        if name in needed.split():
            raise failed(f"unable to delete required option '{name}'")
        if name not in {*optional.split(), *COMMON}:
            raise failed(f"no such option '{name}'")
        if name in changes:
            raise failed(f"cannot set and delete property '{name}' at the same time!")


@route("DELETE", "/storage/{storage}")
def remove(call: Call) -> None:
    """Removes the entry and its ACLs; the files on the storage stay."""
    name = call.params["storage"]
    with prefixed("delete storage failed"):
        call.pve.storages.get(name)
    call.pve.storages.config.drop(name)
    for key, entry in call.pve.acl.items():
        if entry["path"] == f"/storage/{name}":
            call.pve.acl.drop(key)
    call.pve.rights.changed()

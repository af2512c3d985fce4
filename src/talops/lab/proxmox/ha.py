"""High availability: resources can be read, added and removed; it moves no VM."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, modified, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document

OPTIONS = ("state", "group", "comment", "failback", "max_restart", "max_relocate")


def _digest(call: Call) -> str:
    text = json.dumps(sorted(call.pve.ha.items()), sort_keys=True)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _shown(call: Call, entry: Document) -> dict[str, Any]:
    return {**entry, "digest": _digest(call)}


@route("GET", "/cluster/ha/resources")
def list_ha(call: Call) -> list[dict[str, Any]]:
    kind = call.get("type")
    rows = [entry for entry in call.pve.ha.values() if kind in {None, entry["type"]}]
    return call.pve.shuffled([_shown(call, entry) for entry in rows])


def _sid(call: Call) -> str:
    """`vm:101`, also if only the number of an existing VM was given."""
    sid = str(call.params["sid"])
    if not sid.isdigit():
        return sid
    if sid not in call.pve.vms:
        raise failed(f"unable to detect SID from VMID - VM/CT {sid} does not exist")
    return f"vm:{sid}"


def _entry(call: Call, sid: str) -> Document:
    entry = call.pve.ha.get(sid)
    if entry is None:
        raise failed(f"no such resource '{sid}'")
    return entry


@route("GET", "/cluster/ha/resources/{sid}")
def read_ha(call: Call) -> dict[str, Any]:
    return _shown(call, _entry(call, _sid(call)))


@route("POST", "/cluster/ha/resources")
def add_ha(call: Call) -> None:
    sid = _sid(call)
    kind, _, name = sid.partition(":")
    _need_type(call, kind)
    if kind not in {"vm", "ct"}:
        raise failed(f"unknown section type '{kind}'")
    if not re.fullmatch(r"[1-9][0-9]+", name):
        raise failed("invalid VMID")
    if kind == "ct" and name in call.pve.vms:
        raise failed(f"resource '{sid}' - guest with ID {name} is not a CT")
    if name not in call.pve.vms:
        raise failed(f"resource '{sid}' does not exist in cluster")
    with prefixed("create resource failed"):
        if sid in call.pve.ha:
            raise failed(f"resource ID '{sid}' already defined")
    call.pve.ha.put(sid, {**call.params, "sid": sid, "type": kind})


def _need_type(call: Call, kind: str) -> None:
    if call.get("type") not in {None, "", kind}:
        raise failed("types does not match")


@route("PUT", "/cluster/ha/resources/{sid}")
def change_ha(call: Call) -> None:
    sid = _sid(call)
    _need_type(call, sid.partition(":")[0])
    skip = {"sid", "delete", "digest", "type"}
    changes = {key: value for key, value in call.params.items() if key not in skip}
    gone = split_list(str(call.get("delete", "")))
    with prefixed("update resources config failed"):
        if call.get("digest") not in {None, "", _digest(call)}:
            raise modified()
        entry = _entry(call, sid)
        for name in gone:
            if name not in OPTIONS:
                raise failed(f"no such option '{name}'")
            if name in changes:
                raise failed(f"cannot set and delete property '{name}' at the same time!")
    kept = {key: value for key, value in entry.items() if key not in gone}
    call.pve.ha.put(sid, kept | changes)


@route("DELETE", "/cluster/ha/resources/{sid}")
def remove_ha(call: Call) -> None:
    sid = _sid(call)
    if sid not in call.pve.ha:
        raise failed(f"cannot delete service '{sid}', not HA managed!")
    call.pve.ha.drop(sid)

"""High availability: resources can be read, added and removed; it moves no VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document


@route("GET", "/cluster/ha/resources")
def list_ha(call: Call) -> list[dict[str, Any]]:
    return call.pve.ha.values()


def _sid(call: Call) -> str:
    """`vm:101`, also if only the number was given."""
    sid = str(call.params["sid"])
    return sid if ":" in sid else f"vm:{sid}"


def _entry(call: Call) -> Document:
    entry = call.pve.ha.get(_sid(call))
    if entry is None:
        raise failed(f"no such resource '{call.params['sid']}'")
    return entry


@route("GET", "/cluster/ha/resources/{sid}")
def read_ha(call: Call) -> dict[str, Any]:
    return _entry(call)


@route("POST", "/cluster/ha/resources")
def add_ha(call: Call) -> None:
    sid = _sid(call)
    if sid in call.pve.ha:
        raise failed(f"resource ID '{sid}' already defined")
    if sid.removeprefix("vm:") not in call.pve.vms:
        raise failed(f"resource '{sid}' does not exist in cluster")
    call.pve.ha.put(sid, {"state": "started", **call.params, "sid": sid, "type": "vm"})


@route("PUT", "/cluster/ha/resources/{sid}")
def change_ha(call: Call) -> None:
    gone = str(call.get("delete", "")).split(",")
    kept = {key: value for key, value in _entry(call).items() if key not in gone}
    changes = {k: v for k, v in call.params.items() if k not in {"sid", "delete", "digest"}}
    call.pve.ha.put(_sid(call), kept | changes)


@route("DELETE", "/cluster/ha/resources/{sid}")
def remove_ha(call: Call) -> None:
    call.pve.ha.drop(_entry(call)["sid"])

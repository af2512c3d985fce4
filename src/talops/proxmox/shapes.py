"""What talops relies on in each answer of Proxmox."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.shapes import ANY, NUMBER, SCALAR, TEXT, Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

_GUEST = {"vmid": int, "node": str, "type?": str, "name?": TEXT, "status?": TEXT}
_USES = {"maxcpu?": NUMBER, "maxmem?": NUMBER, "mem?": NUMBER}
_TEXTS = ("type", "bridge_vids", "address", "cidr", "gateway")
_INTERFACE = {"iface": str, **{f"{name}?": TEXT for name in _TEXTS}}
_NAMES = ("vendor", "device", "subsystem_vendor", "subsystem_device")
_DEVICE = {"id": str, "iommugroup?": NUMBER, "class?": TEXT, **{f"{n}?": str for n in _NAMES}}
_FLAGS = {"active?": SCALAR, "enabled?": SCALAR, "shared?": SCALAR}

# A path, where * stands for one part of it → the shape of `data`.
READS: dict[str, Shape] = {
    "version": {"version": TEXT},
    "nodes": [{"node": str, "status?": TEXT, **_USES}],
    "nodes/*/network": [_INTERFACE],
    "nodes/*/hardware/pci": [_DEVICE],
    "nodes/*/storage": [
        {"storage": str, "type": str, "content?": TEXT, "avail?": NUMBER, **_FLAGS}
    ],
    "nodes/*/storage/*/content": [{"volid": str, "parent?": TEXT, "vmid?": NUMBER}],
    "nodes/*/*/*/config": {
        "cores?": NUMBER,
        "sockets?": NUMBER,
        "template?": SCALAR,
        ANY: SCALAR,
    },
    "nodes/*/*/*/status/current": {"status": str},
    "nodes/*/tasks/*/status": {"status": str, "exitstatus?": TEXT},
    "nodes/*/tasks/*/log": [{"t": TEXT}],
    "cluster/resources": [{**_GUEST, **_USES}],
    "cluster/nextid": NUMBER,
    "cluster/mapping/pci": [{"id": str, "map?": [str]}],
    "access/roles": [{"roleid": str, "privs?": TEXT}],
    "access/users/*/token": [{"tokenid": str, "privsep?": SCALAR}],
    "access/users/*/token/*": {"expire?": NUMBER},
    "access/acl": [{"path": str, "roleid": str, "ugid": str, "propagate?": SCALAR}],
    "access/permissions": {ANY: {ANY: SCALAR}},
}
WRITES: dict[str, Shape] = {
    "access/ticket": {"ticket?": str, "CSRFPreventionToken?": str, "NeedTFA?": SCALAR},
    "access/users/*/token/*": {"value": str},
}
_COMPILED = {
    method: [
        (re.compile(re.escape(path).replace(r"\*", "[^/]+")), shape)
        for path, shape in table.items()
    ]
    for method, table in (("GET", READS), ("POST", WRITES))
}


def shape_of(method: str, path: str, params: Mapping[str, Any]) -> Shape:
    """None: nothing in this answer is read."""
    if path == "cluster/resources" and params.get("type") != "vm":
        return None
    for pattern, shape in _COMPILED.get(method, ()):
        if pattern.fullmatch(path):
            return shape
    return None

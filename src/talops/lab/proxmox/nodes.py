"""One node: its status, time and DNS servers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import modified
from talops.lab.proxmox.hypervisor import VERSION
from talops.lab.proxmox.resources import node_row
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

KERNEL = {
    "sysname": "Linux",
    "release": "6.17.2-1-pve",
    "version": "#1 SMP PREEMPT_DYNAMIC PMX 6.17.2-1",
    "machine": "x86_64",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "time": {"timezone": "Etc/UTC"},
    "dns": {"search": "lab.internal", "dns1": "127.0.0.53"},
    "hosts": {},
}


@route("GET", "/nodes/{node}/status")
def node_status(call: Call) -> dict[str, Any]:
    row, node = node_row(call.pve, call.node), call.pve.nodes[call.node]
    total = node.memory_gib << 30
    return {
        "uptime": row["uptime"],
        "cpu": row["cpu"],
        "cpuinfo": {
            "cores": node.cores,
            "cpus": node.cores,
            "sockets": 1,
            "model": "talops lab CPU",
        },
        "memory": {
            "total": total,
            "used": row["mem"],
            "free": total - row["mem"],
            "available": total - row["mem"],
        },
        "ksm": {"shared": 0},
        "idle": 0,
        "wait": 0,
        "boot-info": {"mode": "efi", "secureboot": 0},
        "current-kernel": KERNEL,
        "swap": {"total": 0, "used": 0, "free": 0},
        "rootfs": {
            "total": row["maxdisk"],
            "used": row["disk"],
            "free": row["maxdisk"] - row["disk"],
        },
        "pveversion": f"pve-manager/{VERSION['version']}/{VERSION['repoid']}",
        "kversion": f"Linux {KERNEL['release']} {KERNEL['version']}",
        "loadavg": ["0.10", "0.10", "0.10"],
    }


def _setting(call: Call, name: str) -> dict[str, Any]:
    """The values set for this node, over the defaults of a new node."""
    return call.pve.settings.get(f"{name}/{call.node}") or DEFAULTS[name]


def _change(call: Call, name: str) -> None:
    given = {k: v for k, v in call.params.items() if k not in {"node", "digest"}}
    call.pve.settings.put(f"{name}/{call.node}", given)


@route("GET", "/nodes/{node}/time")
def read_time(call: Call) -> dict[str, Any]:
    now = int(call.pve.clock.now())
    return {"time": now, "localtime": now, **_setting(call, "time")}


@route("PUT", "/nodes/{node}/time")
def change_time(call: Call) -> None:
    _change(call, "time")


@route("GET", "/nodes/{node}/dns")
def read_dns(call: Call) -> dict[str, Any]:
    return _setting(call, "dns")


@route("PUT", "/nodes/{node}/dns")
def change_dns(call: Call) -> None:
    _change(call, "dns")


@route("GET", "/nodes/{node}/hosts")
def read_hosts(call: Call) -> dict[str, Any]:
    own = f"{call.pve.addresses.get(call.node, '127.0.1.1')} {call.node}.lab.internal {call.node}"
    data = _setting(call, "hosts").get("data", f"127.0.0.1 localhost\n{own}\n")
    return {"data": data, "digest": hashlib.sha1(data.encode(), usedforsecurity=False).hexdigest()}


@route("POST", "/nodes/{node}/hosts")
def change_hosts(call: Call) -> None:
    if call.get("digest") not in {None, "", read_hosts(call)["digest"]}:
        raise modified()
    _change(call, "hosts")

"""One node: its status, time and DNS servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.hypervisor import VERSION
from talops.lab.proxmox.resources import node_row
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

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
        "memory": {"total": total, "used": row["mem"], "free": total - row["mem"]},
        "swap": {"total": 0, "used": 0, "free": 0},
        "rootfs": {
            "total": row["maxdisk"],
            "used": row["disk"],
            "free": row["maxdisk"] - row["disk"],
        },
        "pveversion": f"pve-manager/{VERSION['version']}/{VERSION['repoid']}",
        "kversion": "Linux 6.17.2-1-pve",
        "loadavg": ["0.10", "0.10", "0.10"],
    }


def _setting(call: Call, name: str) -> dict[str, Any]:
    """The values set for this node, over the defaults of a new node."""
    return {**DEFAULTS[name], **(call.pve.settings.get(f"{name}/{call.node}") or {})}


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
    return {"data": f"127.0.0.1 localhost\n{own}\n", **_setting(call, "hosts")}


@route("POST", "/nodes/{node}/hosts")
def change_hosts(call: Call) -> None:
    _change(call, "hosts")

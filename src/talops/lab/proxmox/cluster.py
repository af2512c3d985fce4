"""What the nodes of one installation have in common: versions, resources, free ids, tasks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.call import RawJson
from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.hypervisor import VERSION
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

_STATUS = re.compile('"status":"[a-z]+"')
FIRST_VMID, LAST_VMID = 100, 1_000_000


@route("GET", "/version")
@route("GET", "/nodes/{node}/version")
def version(_: Call) -> dict[str, str]:
    return dict(VERSION)


@route("GET", "/cluster/nextid", "vmid:int:100..999999999")
def next_id(call: Call) -> str:
    wanted = call.get("vmid")
    if wanted is not None:
        if str(wanted) in call.pve.vms:
            raise invalid({"vmid": f"VM {wanted} already exists"})
        return str(wanted)
    free = (n for n in range(FIRST_VMID, LAST_VMID) if str(n) not in call.pve.vms)
    return str(next(free))


@route("GET", "/cluster/resources", "type=vm|storage|node|sdn")
def resources(call: Call) -> RawJson:
    """Asked for once per VM and plan, so it is not built anew while nothing changes."""
    pve = call.pve
    gone = tuple(name for name in pve.nodes if pve.offline(name))
    key = (call.user, call.get("type"), pve.store.generation, int(pve.clock.now()), gone)
    if pve.last_resources[0] != key:
        pve.last_resources = (key, _resources(call, call.get("type")))
    return pve.last_resources[1]


def _resources(call: Call, wanted: str | None) -> RawJson:
    rows = _vms(call) if wanted in {None, "vm"} else []
    others: list[dict[str, Any]] = []
    if wanted in {None, "node"}:
        others += [node_row(call, name) for name in call.pve.nodes]
    if wanted in {None, "storage"}:
        others += _storages(call)
    listed = ",".join([*rows, *map(json.dumps, others)])
    return RawJson(f'{{"data":[{listed}]}}'.encode())


def _vms(call: Call) -> list[str]:
    pools = {vmid: pool["poolid"] for pool in call.pve.pools.values() for vmid in pool["vms"]}
    now = int(call.pve.clock.now())
    gone = {name for name in call.pve.nodes if call.pve.offline(name)}
    rows = []
    for vm in call.pve.vms.values():
        if not call.may(f"/vms/{vm.vmid}", "VM.Audit"):
            continue
        uptime = max(now - vm.since, 1) if vm.is_running else 0
        pool = f',"pool":{json.dumps(pools[vm.vmid])}' if vm.vmid in pools else ""
        row = f'{vm.resource_json[:-1]},"uptime":{uptime}{pool}}}'
        # Nobody knows how VMs fare on a node that does not answer.
        rows.append(_STATUS.sub('"status":"unknown"', row) if vm.node in gone else row)
    return rows


def _storages(call: Call) -> list[dict[str, Any]]:
    rows = []
    for node in call.pve.nodes:
        for entry in call.pve.storages.available(node):
            name = entry["storage"]
            if not call.may(
                f"/storage/{name}", "Datastore.Audit", "Datastore.AllocateSpace", any_of=True
            ):
                continue
            status = call.pve.storages.status(name, node)
            rows.append(
                {
                    "id": f"storage/{node}/{name}",
                    "type": "storage",
                    "node": node,
                    "storage": name,
                    "plugintype": status["type"],
                    "content": status["content"],
                    "shared": status["shared"],
                    "disk": status["used"],
                    "maxdisk": status["total"],
                    "status": "available" if status["active"] else "unknown",
                }
            )
    return rows


def node_row(call: Call, name: str) -> dict[str, Any]:
    node = call.pve.nodes[name]
    online = not call.pve.offline(name)
    row: dict[str, Any] = {
        "id": f"node/{name}",
        "type": "node",
        "node": name,
        "status": "online" if online else "offline",
        "level": "",
    }
    if online:
        used = sum(vm.memory for vm in call.pve.vms.values() if vm.node == name and vm.is_running)
        row |= {
            "maxcpu": node.cores,
            "cpu": 0.01,
            "maxmem": node.memory_gib << 30,
            "mem": used + (2 << 30),
            "maxdisk": 100 << 30,
            "disk": 10 << 30,
            "uptime": 86_400,
        }
    return row


@route("GET", "/nodes")
def nodes(call: Call) -> list[dict[str, Any]]:
    return [
        {**node_row(call, name), "ssl_fingerprint": call.pve.fingerprint} for name in call.pve.nodes
    ]


@route("GET", "/cluster/status", "", perm("/", "Sys.Audit"))
def cluster_status(call: Call) -> list[dict[str, Any]]:
    names = list(call.pve.nodes)
    rows: list[dict[str, Any]] = [
        {
            "id": f"node/{name}",
            "type": "node",
            "name": name,
            "nodeid": number + 1,
            "online": int(not call.pve.offline(name)),
            "local": int(number == 0),
            "level": "",
            "ip": call.pve.addresses.get(name, ""),
        }
        for number, name in enumerate(names)
    ]
    if len(names) > 1:
        quorate = sum(row["online"] for row in rows) * 2 > len(names)
        rows.insert(
            0,
            {
                "id": "cluster",
                "type": "cluster",
                "name": call.pve.name,
                "nodes": len(names),
                "quorate": int(quorate),
                "version": len(names),
            },
        )
    return rows

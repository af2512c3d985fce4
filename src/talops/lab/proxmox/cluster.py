"""What the nodes of one installation have in common: versions, resources, free ids, tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.call import RawJson
from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.hypervisor import VERSION
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

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
    key = (call.user, call.get("type"), pve.store.generation, int(pve.clock.now()))
    if pve.last_resources[0] != key:
        pve.last_resources = (key, _resources(call, call.get("type")))
    return pve.last_resources[1]


def _resources(call: Call, wanted: str | None) -> RawJson:
    rows = _vms(call) if wanted in {None, "vm"} else []
    others: list[dict[str, Any]] = []
    if wanted in {None, "node"}:
        others += [_node_row(call, name) for name in call.pve.nodes]
    if wanted in {None, "storage"}:
        others += _storages(call)
    return RawJson(("[" + ",".join([*rows, *map(json.dumps, others)]) + "]").encode())


def _vms(call: Call) -> list[str]:
    pools = {vmid: pool["poolid"] for pool in call.pve.pools.values() for vmid in pool["vms"]}
    now = int(call.pve.clock.now())
    rows = []
    for vm in call.pve.vms.values():
        if not call.may(f"/vms/{vm.vmid}", "VM.Audit"):
            continue
        uptime = max(now - vm.since, 1) if vm.is_running else 0
        pool = f',"pool":{json.dumps(pools[vm.vmid])}' if vm.vmid in pools else ""
        rows.append(f'{vm.resource_json[:-1]},"uptime":{uptime}{pool}}}')
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


def _node_row(call: Call, name: str) -> dict[str, Any]:
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
        {**_node_row(call, name), "ssl_fingerprint": call.pve.fingerprint}
        for name in call.pve.nodes
    ]


@route("GET", "/nodes/{node}/status", "", perm("/nodes/{node}", "Sys.Audit"))
def node_status(call: Call) -> dict[str, Any]:
    row, node = _node_row(call, call.node), call.pve.nodes[call.node]
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


@route("GET", "/nodes/{node}/time", "", perm("/nodes/{node}", "Sys.Audit"))
def node_time(call: Call) -> dict[str, Any]:
    now = int(call.pve.clock.now())
    return {"time": now, "localtime": now, "timezone": "Etc/UTC"}


@route("GET", "/nodes/{node}/dns", "", perm("/nodes/{node}", "Sys.Audit"))
def node_dns(_: Call) -> dict[str, Any]:
    return {"search": "lab.internal", "dns1": "127.0.0.53"}


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


# -- tasks -------------------------------------------------------------------------------------


def _task(call: Call) -> Any:
    task = call.pve.tasks.table.get(call.params["upid"])
    if task is None:
        raise invalid({"upid": "no such task"})
    if task.user.split("!")[0] != call.user.split("!")[0]:
        call.need(f"/nodes/{task.node}", "Sys.Audit")
    return task


@route("GET", "/nodes/{node}/tasks/{upid}/status")
def task_status(call: Call) -> dict[str, Any]:
    status: dict[str, Any] = _task(call).status()
    return status


@route("GET", "/nodes/{node}/tasks/{upid}/log", "start:int:0.. limit:int:0.. download:bool")
def task_log(call: Call) -> list[dict[str, Any]]:
    lines = _task(call).log or ["no content"]
    start, limit = call.get("start", 0), call.get("limit", 50) or len(lines)
    return [
        {"n": number, "t": line}
        for number, line in enumerate(lines, 1)
        if start < number <= start + limit
    ]


@route("DELETE", "/nodes/{node}/tasks/{upid}")
def stop_task(call: Call) -> None:
    task = _task(call)
    if task.user.split("!")[0] != call.user.split("!")[0]:
        call.need(f"/nodes/{task.node}", "Sys.Modify")
    call.pve.tasks.stop_task(task.upid)


@route("GET", "/cluster/tasks")
@route(
    "GET",
    "/nodes/{node}/tasks",
    "vmid:int typefilter:str limit:int start:int errors:bool source:str",
)
def list_tasks(call: Call) -> list[dict[str, Any]]:
    rows = []
    for task in sorted(call.pve.tasks.table.values(), key=lambda t: -t.pid):
        if call.get("node") not in {None, task.node}:
            continue
        if call.get("vmid") not in {None, int(task.subject) if task.subject.isdigit() else -1}:
            continue
        if call.get("typefilter") not in {None, task.kind}:
            continue
        own = task.user.split("!")[0] == call.user.split("!")[0]
        if own or call.may(f"/nodes/{task.node}", "Sys.Audit"):
            row = task.status()
            row["status"] = row.pop("exitstatus", "running")
            rows.append({**row, "endtime": task.endtime} if task.endtime else row)
    start = call.get("start", 0)
    return rows[start : start + call.get("limit", 50)]


# -- high availability, to be looked up --------------------------------------------------------


@route("GET", "/cluster/ha/resources", "type=ct|vm", perm("/", "Sys.Audit"))
def list_ha(call: Call) -> list[dict[str, Any]]:
    return call.pve.ha.values()


@route("GET", "/cluster/ha/resources/{sid}", "", perm("/", "Sys.Audit"))
def read_ha(call: Call) -> dict[str, Any]:
    sid = call.params["sid"]
    entry = call.pve.ha.get(sid if ":" in sid else f"vm:{sid}")
    if entry is None:
        raise failed(f"no such resource '{sid}'")
    return entry


@route(
    "POST",
    "/cluster/ha/resources",
    "sid!:str state=started|stopped|enabled|disabled|ignored group:str comment:str type=ct|vm "
    "max_relocate:int:0.. max_restart:int:0.. failback:bool",
    perm("/", "Sys.Console"),
)
def add_ha(call: Call) -> None:
    sid = call.params["sid"] if ":" in call.params["sid"] else f"vm:{call.params['sid']}"
    if sid in call.pve.ha:
        raise failed(f"resource ID '{sid}' already defined")
    if sid.removeprefix("vm:") not in call.pve.vms:
        raise failed(f"resource '{sid}' does not exist in cluster")
    call.pve.ha.put(sid, {"state": "started", **call.params, "sid": sid, "type": "vm"})


@route("DELETE", "/cluster/ha/resources/{sid}", "purge:bool", perm("/", "Sys.Console"))
def remove_ha(call: Call) -> None:
    sid = call.params["sid"] if ":" in call.params["sid"] else f"vm:{call.params['sid']}"
    if sid not in call.pve.ha:
        raise failed(f"no such resource '{sid}'")
    call.pve.ha.drop(sid)

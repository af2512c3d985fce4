"""What the nodes of one installation share: versions, resources, free ids, tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.call import RawJson
from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.hypervisor import VERSION
from talops.lab.proxmox.resources import node_row, storage_row, vm_row
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage.access import LOCAL_ZONE

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

FIRST_VMID, LAST_VMID = 100, 1_000_000


@route("GET", "/version")
@route("GET", "/nodes/{node}/version")
def version(_: Call) -> dict[str, str]:
    return dict(VERSION)


@route("GET", "/cluster/nextid")
def next_id(call: Call) -> str:
    wanted = call.get("vmid")
    if wanted is not None:
        if str(wanted) in call.pve.vms:
            raise invalid({"vmid": f"VM {wanted} already exists"})
        return str(wanted)
    free = (n for n in range(FIRST_VMID, LAST_VMID) if str(n) not in call.pve.vms)
    return str(next(free))


@route("GET", "/cluster/resources")
def resources(call: Call) -> RawJson:
    """Read once per VM and plan, so it is cached until something changes."""
    pve = call.pve
    gone = tuple(name for name in pve.nodes if pve.offline(name))
    pve.stats.run(pve)
    moment = (pve.store.generation, int(pve.clock.now()), pve.stats.round)
    key = (call.user, call.get("type"), moment, gone)
    if pve.last_resources[0] != key:
        pve.last_resources = (key, _resources(call, call.get("type")))
    return pve.last_resources[1]


def _resources(call: Call, wanted: str | None) -> RawJson:
    rows: list[dict[str, Any]] = []
    if wanted is None:
        pools = sorted(call.pve.pools.keys())
        rows += [
            {"id": f"/pool/{name}", "pool": name, "type": "pool"}
            for name in pools
            if call.may(f"/pool/{name}", "Pool.Audit")
        ]
    if wanted in {None, "vm"}:
        rows += _vms(call)
    if wanted in {None, "node"}:
        rows += [_node(call, name) for name in call.pve.nodes]
    if wanted in {None, "storage"}:
        rows += _storages(call)
    if wanted in {None, "network"}:
        rows += _networks(call)
    return RawJson(json.dumps({"data": rows}, separators=(",", ":")).encode())


def _vms(call: Call) -> list[dict[str, Any]]:
    pve = call.pve
    pools = {vmid: pool["poolid"] for pool in pve.pools.values() for vmid in pool["vms"]}
    shown = {name for name in set(pools.values()) if call.may(f"/pool/{name}", "Pool.Audit")}
    rows = []
    for _, vm in sorted(pve.vms.items()):
        if not call.may(f"/vms/{vm.vmid}", "VM.Audit"):
            continue
        row = vm_row(pve, vm)
        if pools.get(vm.vmid) in shown:
            row["pool"] = pools[vm.vmid]
        entry = pve.ha.get(f"vm:{vm.vmid}")
        if entry:
            row["hastate"] = entry.get("state", "started")
        rows.append(row)
    return rows


def _node(call: Call, name: str) -> dict[str, Any]:
    audit = call.may(f"/nodes/{name}", "Sys.Audit")
    return {**node_row(call.pve, name, audit=audit), "cgroup-mode": 2}


def _storages(call: Call) -> list[dict[str, Any]]:
    return [
        storage_row(call.pve, name, node)
        for name, entry in sorted(call.pve.storages.config.items())
        if call.may(f"/storage/{name}", "Datastore.Audit") and not entry.get("disable")
        for node in call.pve.nodes
        if call.pve.storages.reaches(name, node)
    ]


def _networks(call: Call) -> list[dict[str, Any]]:
    if not call.may(LOCAL_ZONE, "SDN.Audit"):
        return []
    return [
        {
            "id": f"network/{node}/zone/localnetwork",
            "type": "network",
            "network-type": "zone",
            "network": "localnetwork",
            "node": node,
            "status": "ok",
        }
        for node in call.pve.nodes
    ]


@route("GET", "/nodes")
def nodes(call: Call) -> list[dict[str, Any]]:
    rows = []
    for name in call.pve.nodes:
        audit = call.may(f"/nodes/{name}", "Sys.Audit")
        rows.append(
            {**node_row(call.pve, name, audit=audit), "ssl_fingerprint": call.pve.fingerprint}
        )
    return rows


@route("GET", "/cluster/status")
def cluster_status(call: Call) -> list[dict[str, Any]]:
    names = list(call.pve.nodes)
    rows: list[dict[str, Any]] = [
        {
            "id": f"node/{name}",
            "type": "node",
            "name": name,
            "nodeid": number + 1 if len(names) > 1 else 0,
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

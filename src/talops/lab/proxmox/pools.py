"""Pools: names for sets of VMs and storages, and a place to hang rights on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.store import Document

ALLOCATE = perm("/pool/{poolid}", "Pool.Allocate")
CHANGE = "poolid!:str comment:str vms:str storage:str delete:bool allow-move:bool"


def add_to_pool(pve: Hypervisor, poolid: str, vmid: int) -> None:
    pool = pve.pools.get(poolid)
    if pool is None:
        raise failed(f"pool '{poolid}' does not exist")
    _save(pve, {**pool, "vms": sorted({*pool["vms"], vmid})})


def leave_pool(pve: Hypervisor, vmid: int) -> None:
    for pool in pve.pools.values():
        if vmid in pool["vms"]:
            _save(pve, {**pool, "vms": [other for other in pool["vms"] if other != vmid]})


def pool_of(pve: Hypervisor, vmid: int) -> str | None:
    return next((pool["poolid"] for pool in pve.pools.values() if vmid in pool["vms"]), None)


def _save(pve: Hypervisor, pool: Document) -> None:
    pve.pools.put(pool["poolid"], pool)
    pve.rights.changed()


def _existing(call: Call) -> Document:
    pool = call.pve.pools.get(call.params["poolid"])
    if pool is None:
        raise failed(f"pool '{call.params['poolid']}' does not exist")
    return pool


@route("GET", "/pools", "poolid:str type=qemu|lxc|storage")
def list_pools(call: Call) -> list[dict[str, Any]]:
    wanted = call.get("poolid")
    if wanted is not None:
        call.need(f"/pool/{wanted}", "Pool.Audit")
        return [{"poolid": wanted, **_details(call, _existing(call))}]
    found = [p for p in call.pve.pools.values() if call.may(f"/pool/{p['poolid']}", "Pool.Audit")]
    return [_head(pool) for pool in found]


@route("GET", "/pools/{poolid}", "type=qemu|lxc|storage", perm("/pool/{poolid}", "Pool.Audit"))
def read_pool(call: Call) -> dict[str, Any]:
    return _details(call, _existing(call))


def _head(pool: Document) -> dict[str, Any]:
    head = {"poolid": pool["poolid"]}
    if pool.get("comment"):
        head["comment"] = pool["comment"]
    return head


def _details(call: Call, pool: Document) -> dict[str, Any]:
    members: list[dict[str, Any]] = []
    for vmid in pool["vms"]:
        vm = call.pve.vms.get(str(vmid))
        if vm:
            members.append(
                {
                    "id": f"qemu/{vmid}",
                    "node": vm.node,
                    "type": "qemu",
                    "vmid": vmid,
                    "name": vm.name,
                    "status": "running" if vm.is_running else "stopped",
                }
            )
    for storage in pool["storages"]:
        members += [
            {"id": f"storage/{node}/{storage}", "node": node, "type": "storage", "storage": storage}
            for node in call.pve.nodes
        ]
    details: dict[str, Any] = {"members": members}
    if pool.get("comment"):
        details["comment"] = pool["comment"]
    return details


@route("POST", "/pools", "poolid!:str comment:str", ALLOCATE)
def create_pool(call: Call) -> None:
    name = call.params["poolid"]
    if name in call.pve.pools:
        raise failed(f"create pool failed: pool '{name}' already exists")
    _save(call.pve, {"poolid": name, "comment": call.get("comment", ""), "vms": [], "storages": []})


@route("PUT", "/pools", CHANGE, ALLOCATE)
@route("PUT", "/pools/{poolid}", CHANGE.replace("poolid!:str ", ""), ALLOCATE)
def change_pool(call: Call) -> None:
    pool = dict(_existing(call))
    if "comment" in call.params:
        pool["comment"] = call.params["comment"]
    _change_vms(call, pool)
    storages = {name for name in str(call.get("storage", "")).split(",") if name}
    kept = (
        set(pool["storages"]) - storages if call.get("delete") else {*pool["storages"], *storages}
    )
    pool["storages"] = sorted(kept)
    _save(call.pve, pool)


def _change_vms(call: Call, pool: Document) -> None:
    for vmid in (int(text) for text in str(call.get("vms", "")).split(",") if text):
        here = pool_of(call.pve, vmid)
        if call.get("delete"):
            if here != pool["poolid"]:
                raise failed(f"VM {vmid} is not a pool member")
            pool["vms"] = [other for other in pool["vms"] if other != vmid]
            continue
        if str(vmid) not in call.pve.vms:
            raise failed(f"VM {vmid} does not exist")
        if here == pool["poolid"]:
            raise failed(f"VM {vmid} is already a pool member")
        if here and not call.get("allow-move"):
            raise failed(f"VM {vmid} is already a member of pool '{here}'")
        leave_pool(call.pve, vmid)
        pool["vms"] = sorted({*pool["vms"], vmid})


@route("DELETE", "/pools", "poolid!:str", ALLOCATE)
@route("DELETE", "/pools/{poolid}", "", ALLOCATE)
def delete_pool(call: Call) -> None:
    pool = _existing(call)
    if pool["vms"] or pool["storages"]:
        raise failed(f"delete pool failed: pool '{pool['poolid']}' is not empty")
    call.pve.pools.drop(pool["poolid"])
    call.pve.rights.changed()

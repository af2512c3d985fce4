"""Pools: named sets of VMs and storages that rights can be granted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, prefixed
from talops.lab.proxmox.resources import storage_row, vm_row
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.checks import need_modify
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.store import Document


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


@route("GET", "/pools")
def list_pools(call: Call) -> list[dict[str, Any]]:
    """Every user can read a pool by name, as in Proxmox, but not the list."""
    if call.get("poolid"):
        return [_details(call, _existing(call))]
    return [
        _head(pool)
        for name, pool in sorted(call.pve.pools.items())
        if call.may(f"/pool/{name}", "Pool.Audit")
    ]


@route("GET", "/pools/{poolid}")
def read_pool(call: Call) -> dict[str, Any]:
    return _details(call, _existing(call))


def _head(pool: Document) -> dict[str, Any]:
    head = {"poolid": pool["poolid"]}
    if pool.get("comment"):
        head["comment"] = pool["comment"]
    return head


def _details(call: Call, pool: Document) -> dict[str, Any]:
    call.pve.stats.run(call.pve)
    wanted = call.get("type")
    members: list[dict[str, Any]] = []
    if wanted in {None, "qemu"}:
        vms = (call.pve.vms.get(str(vmid)) for vmid in pool["vms"])
        members += [vm_row(call.pve, vm) for vm in vms if vm]
    if wanted in {None, "storage"}:
        for name in pool["storages"]:
            if name not in call.pve.storages.config:
                continue
            nodes = [n for n in call.pve.nodes if call.pve.storages.reaches(name, n)]
            members.append(storage_row(call.pve, name, nodes[0] if nodes else call.pve.first))
    return {**_head(pool), "members": members}


@route("POST", "/pools")
def create_pool(call: Call) -> None:
    name = call.params["poolid"]
    with prefixed("create pool failed"):
        if name in call.pve.pools:
            raise failed(f"pool '{name}' already exists")
        parent, _, leaf = name.rpartition("/")
        if parent and parent not in call.pve.pools:
            raise failed(f"parent '{parent}' of pool '{name}' does not exist")
        if not leaf[0].isalpha():
            raise failed("pool name must start with a letter")
    _save(call.pve, {"poolid": name, "comment": call.get("comment", ""), "vms": [], "storages": []})


@route("PUT", "/pools")
@route("PUT", "/pools/{poolid}")
def change_pool(call: Call) -> None:
    with prefixed("update pools failed"):
        pool = dict(_existing(call))
        if "comment" in call.params:
            pool["comment"] = call.params["comment"]
        vms = [_member(call, pool, int(text)) for text in split_list(str(call.get("vms", "")))]
        _change_storages(call, pool)
    if call.get("delete"):
        pool["vms"] = [vmid for vmid in pool["vms"] if vmid not in vms]
    else:
        for vmid in vms:
            leave_pool(call.pve, vmid)
        pool["vms"] = sorted({*pool["vms"], *vms})
    _save(call.pve, pool)


def _member(call: Call, pool: Document, vmid: int) -> int:
    """A VM that may join or leave; a pool even accepts VMIDs that no VM has."""
    need_modify(call, f"/vms/{vmid}")
    here = pool_of(call.pve, vmid)
    if call.get("delete"):
        if here != pool["poolid"]:
            raise failed(f"VM {vmid} is not a pool member")
        return vmid
    if here == pool["poolid"]:
        raise failed(f"VM {vmid} is already a pool member")
    if here and not call.get("allow-move"):
        raise failed(f"VM {vmid} belongs already to pool '{here}' and 'allow-move' is not set")
    if here:
        call.need(f"/pool/{here}", "Pool.Allocate")
    return vmid


def _change_storages(call: Call, pool: Document) -> None:
    held = set(pool["storages"])
    for name in split_list(str(call.get("storage", ""))):
        need_modify(call, f"/storage/{name}")
        if call.get("delete"):
            if name not in held:
                raise failed(f"Storage '{name}' is not a pool member")
            held.discard(name)
        elif name in held:
            raise failed(f"Storage '{name}' is already a pool member")
        else:
            held.add(name)
    pool["storages"] = sorted(held)


@route("DELETE", "/pools")
@route("DELETE", "/pools/{poolid}")
def delete_pool(call: Call) -> None:
    with prefixed("delete pool failed"):
        pool = _existing(call)
        name, full = pool["poolid"], f"pool '{pool['poolid']}' is not empty"
        below = [other for other in call.pve.pools if other.rpartition("/")[0] == name]
        if below:
            raise failed(f"{full} (contains pool '{below[0]}')")
        vms = [vmid for vmid in pool["vms"] if str(vmid) in call.pve.vms]
        if vms:
            raise failed(f"{full} (contains VM {vms[0]})")
        storages = [s for s in pool["storages"] if s in call.pve.storages.config]
        if storages:
            raise failed(f"{full} (contains storage '{storages[0]}')")
    call.pve.pools.drop(name)
    for key, entry in call.pve.acl.items():
        if entry["path"] == f"/pool/{name}":
            call.pve.acl.drop(key)
    call.pve.rights.changed()

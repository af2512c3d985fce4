"""Cloning: linked or full, on the same node or another."""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox import disks
from talops.lab.proxmox.checks import both, either, perm, with_param
from talops.lab.proxmox.drives import format_drive, is_cdrom, is_cloudinit
from talops.lab.proxmox.errors import PveError, failed
from talops.lab.proxmox.pools import add_to_pool
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.vmconfig import format_net, new_identity
from talops.lab.proxmox.vmparams import kind
from talops.lab.proxmox.vms import Vm, find, need_unlocked

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.tasks import Task
    from talops.lab.proxmox.volumes import Volume

RIGHT = both(
    perm("/vms/{vmid}", "VM.Clone"),
    either(
        perm("/vms/{newid}", "VM.Allocate"),
        with_param("pool", perm("/pool/{pool}", "VM.Allocate")),
    ),
)
NOT_COPIED = ("template", "lock", "digest", "meta", "parent", "snapshots")


@route(
    "POST",
    "/nodes/{node}/qemu/{vmid}/clone",
    "newid!:int:100..999999999 name:str description:str full:bool pool:str snapname:str "
    "storage:str target:str format=raw|qcow2|vmdk bwlimit:int:0..",
    RIGHT,
)
def clone(call: Call) -> str:
    pve, newid = call.pve, call.params["newid"]
    source = find(pve, call.node, call.vmid)
    need_unlocked(pve, source)
    full = _is_full(call, source)
    target = call.get("target") or call.node
    _check(call, source, target, full=full)
    # Both VMs are locked from now on; the new one is visible, and locked, at once.
    pve.vms.put(str(newid), Vm(newid, target, {"lock": "clone"}))

    async def work(task: Task) -> None:
        async with pve.locks.config(newid):
            await _clone(call, task, source, target, full=full)

    return call.start("qmclone", str(source.vmid), work, lambda: _unreserve(pve, newid))


def _unreserve(pve: Hypervisor, newid: int) -> None:
    vm = pve.vms.get(str(newid))
    if vm and vm.config == {"lock": "clone"}:
        pve.vms.drop(str(newid))


def _is_full(call: Call, source: Vm) -> bool:
    if not source.is_template:
        return True
    return bool(call.get("full", 0))


def _check(call: Call, source: Vm, target: str, *, full: bool) -> None:
    pve, newid = call.pve, call.params["newid"]
    taken = pve.vms.get(str(newid))
    if taken:
        raise failed(f"unable to create VM {newid}: config file already exists")
    if target not in pve.nodes:
        raise failed(f"no such cluster node '{target}'")
    if call.get("pool") and call.params["pool"] not in pve.pools:
        raise failed(f"pool '{call.params['pool']}' does not exist")
    if call.get("storage") and not full:
        raise failed("parameter 'storage' not allowed for linked clones")
    for key, volume in _volumes(pve, source).items():
        storage = call.get("storage") or volume.storage
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
        if target != call.node and not pve.storages.shared(volume.storage):
            raise failed(f"can't clone VM to node '{target}' (VM uses local storage)")
        if target != call.node and not pve.storages.shared(storage):
            raise failed(f"can't clone to non-shared storage '{storage}'")
        if not full and key != "tpmstate0" and not _can_link(pve, volume):
            raise failed(f"Linked clone feature is not supported for '{volume.volid}' ({key})")


def _can_link(pve: Hypervisor, volume: Volume) -> bool:
    kind_ = pve.storages.get(volume.storage)["type"]
    return kind_ in {"lvmthin", "zfspool", "rbd"} or volume.format == "qcow2"


def _volumes(pve: Hypervisor, vm: Vm) -> dict[str, Volume]:
    return {
        key: pve.storages.volume(drive["file"], vm.node)
        for key, drive in vm.drives().items()
        if not is_cdrom(drive) and not is_cloudinit(drive)
    }


async def _clone(call: Call, task: Task, source: Vm, target: str, *, full: bool) -> None:
    pve, newid = call.pve, call.params["newid"]
    made: list[Volume] = []
    try:
        config = _copied(source)
        for key, drive in source.drives().items():
            if is_cdrom(drive) and not is_cloudinit(drive):
                continue
            volume = await _copy(call, task, source, key, target, full=full)
            made.append(volume)
            config[key] = format_drive({**drive, "file": volume.volid})
        await task.step("config")
    except (PveError, CancelledError) as error:
        disks.free_all(pve.storages, made)
        if isinstance(error, PveError):
            raise failed(f"clone failed: {error.message}") from error
        raise
    for name in ("name", "description"):
        if call.get(name):
            config[name] = call.params[name]
    config.setdefault("name", f"Copy-of-VM-{source.name}")
    pve.vms.put(str(newid), Vm(newid, target, new_identity(config, int(pve.clock.now()))))
    if call.get("pool"):
        add_to_pool(pve, call.params["pool"], newid)


def _copied(source: Vm) -> dict[str, Any]:
    config = {
        key: value
        for key, value in source.config.items()
        if key not in NOT_COPIED and not key.startswith("unused")
    }
    for key in [key for key in config if kind(key) == "net"]:
        first, *options = str(config[key]).split(",")
        config[key] = format_net(",".join([f"model={first.split('=')[0]}", *options]))
    return config


async def _copy(call: Call, task: Task, source: Vm, key: str, target: str, *, full: bool) -> Volume:
    pve, newid = call.pve, call.params["newid"]
    old = pve.storages.volume(source.drives()[key]["file"], source.node)
    storage = call.get("storage") or old.storage
    if full or is_cloudinit(source.drives()[key]) or key == "tpmstate0":
        return await disks.copy(
            pve,
            task,
            old,
            node=source.node,
            vmid=newid,
            storage=storage,
            format_=call.get("format"),
            target_node=target,
        )
    return await _link(pve, task, old, source.node, newid)


async def _link(pve: Hypervisor, task: Task, base: Volume, node: str, vmid: int) -> Volume:
    """A volume that stands on a template's and takes no space of its own."""
    storages = pve.storages
    shared = storages.shared(base.storage)
    async with pve.locks.storage(base.storage, node=node, shared=shared):
        await task.step("allocate", f"create linked clone of drive ({base.volid})")
        volid = storages.free_name(
            base.storage, node, vmid, base.format, base=base.volid.split(":", 1)[1]
        )
        # A thin snapshot needs its origin no more; everywhere else the base must stay.
        stands_on = "" if storages.get(base.storage)["type"] == "lvmthin" else base.volid
        volume = replace(
            base,
            volid=volid,
            vmid=vmid,
            used=0,
            base=stands_on,
            file="",
            ctime=int(pve.clock.now()),
        )
        volume = disks.with_file(storages, volume, node, base.path)
        storages.volumes.put(volume.key, volume)
    return volume

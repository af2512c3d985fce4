"""Cloning: linked or full, on the same node or another."""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.pools import add_to_pool
from talops.lab.proxmox.errors import PveError, denied, failed, nowhere
from talops.lab.proxmox.locks import IMPATIENT
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage import allocation as disks
from talops.lab.proxmox.storage.features import has
from talops.lab.proxmox.storage.names import split_id
from talops.lab.proxmox.vm.config import format_net, new_identity
from talops.lab.proxmox.vm.drives import format_drive, format_size, is_cdrom, is_cloudinit
from talops.lab.proxmox.vm.params import kind
from talops.lab.proxmox.vm.records import Vm, need_unlocked
from talops.lab.proxmox.vm.rights import check_devices

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.volumes import Volume
    from talops.lab.proxmox.tasks import Task

NOT_COPIED = ("template", "lock", "digest", "parent", "snaptime", "vmstate", "snapstate")


@route("POST", "/nodes/{node}/qemu/{vmid}/clone")
def clone(call: Call) -> str:
    pve, newid = call.pve, call.params["newid"]
    target = call.get("target") or call.node
    source, full = _check(call, target)
    # The new VM is visible, and locked, at once.
    pve.vms.put(str(newid), Vm(newid, target, {"lock": "clone"}))

    async def work(task: Task) -> None:
        # Several tasks may clone a stopped source at once, but none may change it meanwhile.
        async with (
            pve.locks.config(source.vmid, wait=IMPATIENT, shared=not source.is_running),
            pve.locks.config(newid, wait=IMPATIENT),
        ):
            task.log(f"creating a clone of VM {source.vmid} with ID {newid}")
            await _clone(call, task, source, target, full=full)

    return call.start("qmclone", str(source.vmid), work, lambda: _unreserve(pve, newid))


def _unreserve(pve: Hypervisor, newid: int) -> None:
    vm = pve.vms.get(str(newid))
    if vm and vm.config == {"lock": "clone"}:
        pve.vms.drop(str(newid))


def _check(call: Call, target: str) -> tuple[Vm, bool]:
    """The source, and whether to copy every disk; checked in the order of Proxmox."""
    pve, newid = call.pve, call.params["newid"]
    source = pve.vms.get(str(call.vmid))
    if source is None or source.node != call.node:
        raise nowhere(call.node, call.vmid)
    if call.get("pool") is not None and call.params["pool"] not in pve.pools:
        raise denied(f"pool '{call.params['pool']}' does not exist")
    if target not in pve.nodes:
        raise failed(f"no such cluster node '{target}'")
    _check_storage(call, target)
    need_unlocked(pve, source)
    name = call.get("snapname") or ""
    taken = source.taken(name) if name else source.config
    full = bool(call.get("full", not source.is_template))
    for option in ("storage", "format"):
        if call.get(option) and not full:
            raise failed(f"parameter '{option}' not allowed for linked clones")
    source = replace(source, config=taken)
    shared = _check_access(call, source)
    check_devices(call, source.config)
    if target != call.node and not shared:
        raise failed(f"can't clone VM to node '{target}' (VM uses local storage)")
    if str(newid) in pve.vms:
        raise failed(f"unable to create VM {newid}: config file already exists")
    _check_features(pve, source, name, full=full)
    return source, full


def _check_storage(call: Call, target: str) -> None:
    storage = call.get("storage")
    if not storage:
        return
    disks.need_images(call.pve.storages, storage, call.node)
    if target != call.node:
        call.pve.storages.on_node(storage, target)
        if not call.pve.storages.shared(storage):
            raise failed(f"can't clone to non-shared storage '{storage}'")


def _check_access(call: Call, source: Vm) -> bool:
    """Requires space on the storages of its disks; returns whether all of them are shared."""
    shared = True
    for drive in source.drives().values():
        storage, _ = split_id(drive["file"])
        if drive["file"] == "cdrom":
            call.need("/", "Sys.Console")
        if not storage:
            continue
        shared = shared and call.pve.storages.shared(storage)
        if not is_cdrom(drive):
            place = call.get("storage") or storage
            call.need(f"/storage/{place}", "Datastore.AllocateSpace")
    return shared


def _check_features(pve: Hypervisor, source: Vm, snapshot: str, *, full: bool) -> None:
    if full and source.is_running and not snapshot and "tpmstate0" in source.config:
        raise failed("cannot clone TPM state while VM is running")
    for key, volume in _volumes(pve, source).items():
        kind_, feature = ("Full", "copy") if full or key == "tpmstate0" else ("Linked", "clone")
        if not has(pve.storages, feature, volume, snapshot):
            of = " a snapshot of" if snapshot else ""
            what = f"{kind_} clone feature is not supported for{of} '{volume.volid}' ({key})"
            raise failed(what)


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
            sized = {"file": volume.volid, "size": format_size(volume.size)}
            config[key] = format_drive({**drive, **sized})
        await task.step("config")
    except (PveError, CancelledError) as error:
        disks.free_all(pve.storages, made)
        if isinstance(error, PveError):
            raise failed(f"clone failed: {error.spoken()}") from error
        raise
    config["name"] = call.get("name") or f"Copy-of-VM-{source.config.get('name', source.vmid)}"
    if call.get("description"):
        config["description"] = call.params["description"]
    pve.vms.put(str(newid), Vm(newid, target, new_identity(config)))
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
    """A volume that is based on a template's and takes no space of its own."""
    storages = pve.storages
    shared = storages.shared(base.storage)
    async with pve.locks.storage(base.storage, node=node, shared=shared):
        await task.step("allocate", f"create linked clone of drive ({base.volid})")
        format_ = "qcow2" if storages.file_based(base.storage) else base.format
        volid = storages.free_name(
            base.storage, node, vmid, format_, base=base.volid.split(":", 1)[1]
        )
        # A thin snapshot no longer needs its origin; on other storages the base must stay.
        stands_on = "" if storages.get(base.storage)["type"] == "lvmthin" else base.volid
        volume = replace(
            base,
            volid=volid,
            format=format_,
            vmid=vmid,
            used=0,
            base=stands_on,
            file="",
            ctime=int(pve.clock.now()),
        )
        volume = disks.with_file(storages, volume, node, base.path)
        storages.volumes.put(volume.key, volume)
    return volume

"""Disks of a VM that grow, move, or become the base of clones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import PveError, failed, invalid, modified
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage import allocation as disks
from talops.lab.proxmox.storage.features import has
from talops.lab.proxmox.vm.drives import (
    format_drive,
    format_size,
    is_cdrom,
    is_cloudinit,
    parse_drive,
    parse_size,
)
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked
from talops.lab.proxmox.vm.update import free_unused

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.volumes import Volume
    from talops.lab.proxmox.tasks import Task


@route("PUT", "/nodes/{node}/qemu/{vmid}/resize")
def resize(call: Call) -> str:
    """All errors come from the task, even for a VM that does not exist."""
    if call.get("skiplock") and not call.is_root:
        raise invalid({"skiplock": "Only root may use this option."})

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            await _grow(call, task, find(call.pve, call.node, call.vmid))

    return call.start("resize", str(call.vmid), work)


async def _grow(call: Call, task: Task, vm: Vm) -> None:
    pve, key, wanted = call.pve, call.params["disk"], call.params["size"]
    if call.get("digest") not in {None, vm.digest()}:
        raise failed("checksum mismatch (file change by other user?)")
    need_unlocked(pve, vm)
    if key not in vm.config:
        raise failed(f"disk '{key}' does not exist")
    drive = parse_drive(vm.config[key])
    if is_cdrom(drive):
        raise failed("you can't resize a cdrom")
    volume = pve.storages.volume(drive["file"], vm.node)
    call.need(f"/storage/{volume.storage}", "Datastore.AllocateSpace")
    asked = parse_size(wanted.removeprefix("+"))
    size = volume.size + asked if wanted.startswith("+") else asked
    if size < volume.size:
        raise failed("shrinking disks is not supported")
    if size == volume.size:
        return
    await _extend(pve, task, vm, volume, size)
    vm = find(pve, vm.node, vm.vmid)
    text = format_drive({**drive, "size": format_size(size)})
    pve.vms.put(vm.key, vm.with_config({**vm.config, key: text}))


async def _extend(pve: Hypervisor, task: Task, vm: Vm, volume: Volume, size: int) -> None:
    shared = pve.storages.shared(volume.storage)
    async with pve.locks.storage(volume.storage, node=vm.node, shared=shared):
        await task.step("resize")
        more = size - volume.size if pve.storages.thick(volume.storage) else 0
        name = volume.volid.split(":", 1)[1]
        pve.storages.reserve(volume.storage, vm.node, more, name)
        pve.storages.volumes.put(volume.key, replace(volume, size=size, used=volume.used + more))
    found = pve.storages.get(volume.storage)
    if found["type"] in {"lvm", "lvmthin"}:
        task.log(f"  Logical volume {found.get('vgname')}/{name} successfully resized.")


@route("POST", "/nodes/{node}/qemu/{vmid}/move_disk")
def move_disk(call: Call) -> str:
    other, storage = call.get("target-vmid"), call.get("storage")
    if bool(other) == bool(storage):
        problem = "either set 'storage' or 'target-vmid', but not both"
        if not other:
            problem = "both 'storage' and 'target-vmid' missing, either needs to be set"
        raise invalid({"target-vmid": problem, "storage": problem})
    if other:
        raise PveError(501, "moving a disk to another VM is not simulated")
    call.need(f"/storage/{call.params['storage']}", "Datastore.AllocateSpace")
    _movable(call)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            await _move(call, task)

    return call.start("qmmove", str(call.vmid), work)


def _movable(call: Call) -> tuple[Vm, dict[str, str], Volume]:
    pve, key, storage = call.pve, call.params["disk"], call.params["storage"]
    vm = find(pve, call.node, call.vmid)
    need_unlocked(pve, vm)
    if call.get("digest") not in {None, "", vm.digest()}:
        raise modified()
    if key not in vm.config:
        raise failed(f"disk '{key}' does not exist")
    drive = parse_drive(vm.config[key])
    if is_cdrom(drive) and not is_cloudinit(drive):
        raise failed("you can't move a cdrom")
    old = pve.storages.volume(drive["file"], vm.node)
    if old.storage == storage and call.get("format") in {None, old.format}:
        raise failed("you can't move to the same storage with same format")
    disks.need_images(pve.storages, storage, vm.node)
    return vm, drive, old


async def _move(call: Call, task: Task) -> None:
    pve, storage = call.pve, call.params["storage"]
    vm, drive, old = _movable(call)
    new = await disks.copy(
        pve, task, old, node=vm.node, vmid=vm.vmid, storage=storage, format_=call.get("format")
    )
    key = call.params["disk"]
    sized = {} if key.startswith("unused") else {"size": format_size(new.size)}
    config = {**vm.config, key: format_drive({**drive, "file": new.volid, **sized})}
    if call.get("delete"):
        pve.storages.remove(old)
    elif not is_cloudinit(drive):
        config[free_unused(config)] = old.volid
    changed = vm.with_config(config)
    pve.vms.put(vm.key, changed)
    if vm.is_template:
        _freeze(pve, changed, key)


@route("POST", "/nodes/{node}/qemu/{vmid}/template")
def make_template(call: Call) -> str:
    _convertible(call)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            await task.step("template")
            _freeze(call.pve, _convertible(call))

    return call.start("qmtemplate", str(call.vmid), work)


def _convertible(call: Call) -> Vm:
    vm = find(call.pve, call.node, call.vmid)
    need_unlocked(call.pve, vm)
    if vm.snapshots:
        raise failed("unable to create template, because VM contains snapshots")
    if vm.is_template and not call.get("disk"):
        raise failed("you can't convert a template to a template")
    if vm.is_running:
        raise failed("you can't convert a VM to template if VM is running")
    return vm


def _freeze(pve: Hypervisor, vm: Vm, only: str = "") -> None:
    """Disks become `base-…`: read-only, and usable for linked clones."""
    config: dict[str, Any] = {**vm.config, "template": 1}
    for key, drive in vm.drives().items():
        if only not in {"", key}:
            continue
        volume = pve.storages.find(drive["file"], vm.node)
        if is_cdrom(drive) or volume is None or not has(pve.storages, "template", volume):
            continue
        base = replace(volume, volid=volume.volid.replace(f"vm-{vm.vmid}-", f"base-{vm.vmid}-"))
        pve.storages.volumes.drop(volume.key)
        pve.storages.volumes.put(base.key, base)
        config[key] = format_drive({**drive, "file": base.volid})
    pve.vms.put(vm.key, replace(vm, config=config))

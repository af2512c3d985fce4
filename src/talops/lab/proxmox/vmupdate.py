"""Changing a VM: configuration, disks that grow or move, templates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox import disks
from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.drives import (
    format_drive,
    format_size,
    is_cdrom,
    is_cloudinit,
    is_drive,
    parse,
    parse_drive,
    parse_size,
)
from talops.lab.proxmox.errors import failed, invalid, missing_vm
from talops.lab.proxmox.params import schema
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.vmconfig import check_balloon, check_boot, normalise
from talops.lab.proxmox.vmparams import UPDATE
from talops.lab.proxmox.vmrights import check_delete, check_update
from talops.lab.proxmox.vms import Vm, find, need_unlocked

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.tasks import Task

CONFIG = perm(
    "/vms/{vmid}",
    "VM.Config.Disk",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.HWType",
    "VM.Config.Options",
    "VM.Config.Cloudinit",
    any_of=True,
)
DISK = perm("/vms/{vmid}", "VM.Config.Disk")


@route("PUT", "/nodes/{node}/qemu/{vmid}/config", UPDATE, CONFIG)
async def update(call: Call) -> None:
    await _update(call, None)


@route("POST", "/nodes/{node}/qemu/{vmid}/config", UPDATE, CONFIG)
def update_as_task(call: Call) -> str:
    find(call.pve, call.node, call.vmid)

    async def work(task: Task) -> None:
        await _update(call, task)

    return call.start("qmconfig", str(call.vmid), work)


async def _update(call: Call, task: Task | None) -> None:
    pve, vmid = call.pve, call.vmid
    vm = find(pve, call.node, vmid)
    changes = normalise(call.params)
    removed = [key for key in str(call.get("delete", "")).replace(";", ",").split(",") if key]
    _check_keys(changes, removed)
    check_delete(call, removed, vm.config, vmid)
    check_update(call, changes, vm.config, vmid)
    async with pve.locks.config(vmid):
        vm = find(pve, call.node, vmid)
        if call.get("digest") not in {None, vm.digest()}:
            raise failed("checksum mismatch (file change by other user?)")
        if not (call.get("skiplock") or "lock" in removed):
            need_unlocked(pve, vm)
        after = {k: v for k, v in {**vm.config, **changes}.items() if k not in removed}
        check_boot(changes, after)
        check_balloon(changes, after)
        config = _shorter_boot(without(pve, vm, removed, force=bool(call.get("force"))), removed)
        for key, value in changes.items():
            if is_drive(key):
                config = await _set_drive(pve, task, replace(vm, config=config), key, value)
            elif key == "description" and not value:
                config.pop(key, None)
            else:
                config[key] = value
        pve.vms.put(vm.key, find(pve, call.node, vmid).with_config(config))


def _check_keys(changes: dict[str, Any], removed: list[str]) -> None:
    if not changes and not removed:
        raise failed("no options specified")
    for key in removed:
        if schema(UPDATE).find(key) is None:
            raise invalid({"delete": f"unknown option '{key}'"})
        if key in changes:
            problem = f"you can't use '-{key}' and -delete {key}' at the same time"
            raise invalid({"delete": problem})


def _shorter_boot(config: dict[str, Any], removed: list[str]) -> dict[str, Any]:
    """A device that goes is no longer booted from."""
    boot = parse(str(config.get("boot", "")), "legacy")
    devices = boot.get("order", "").split(";")
    kept = [device for device in devices if device not in removed]
    if kept == devices:
        return config
    return {**config, "boot": f"order={';'.join(kept)}"}


def without(pve: Hypervisor, vm: Vm, keys: list[str], *, force: bool = False) -> dict[str, Any]:
    """The configuration without these keys; a disk of its own stays as `unusedN`."""
    config = dict(vm.config)
    for key in keys:
        value = config.pop(key, None)
        if value is None:
            continue
        volid = str(value).split(",")[0]
        volume = pve.storages.find(volid, vm.node) if ":" in volid else None
        if volume is None or volume.vmid != vm.vmid:
            continue
        drive = parse_drive(key, str(value)) if is_drive(key) else {"file": volid}
        if key.startswith("unused") or force or is_cloudinit(drive):
            pve.storages.remove(volume)
        else:
            config[_free_unused(config)] = volid
    return config


def _free_unused(config: dict[str, Any]) -> str:
    return next(name for n in range(256) if (name := f"unused{n}") not in config)


async def _set_drive(
    pve: Hypervisor, task: Task | None, vm: Vm, key: str, drive: dict[str, str]
) -> dict[str, Any]:
    old = vm.config.get(key)
    current = parse_drive(key, old) if old else None
    config = dict(vm.config)
    if current and current["file"] != drive["file"] and not is_cdrom(current):
        config = without(pve, vm, [key])
    if current and is_cloudinit(current) and drive["file"].endswith(":cloudinit"):
        drive = {**drive, "file": current["file"], "media": "cdrom"}
    text, made = await disks.attach(pve, task, vm.node, vm.vmid, key, dict(drive))
    if made and vm.key not in pve.vms:  # destroyed while the storage was busy
        pve.storages.remove(made)
        raise missing_vm(vm.node, vm.vmid)
    final = parse_drive(key, text)
    # A disk that was unused is in use again.
    config = {
        k: v for k, v in config.items() if not (k.startswith("unused") and v == final["file"])
    }
    config[key] = text
    return config


@route("PUT", "/nodes/{node}/qemu/{vmid}/cloudinit", "", perm("/vms/{vmid}", "VM.Config.Cloudinit"))
def regenerate_cloudinit(call: Call) -> None:
    find(call.pve, call.node, call.vmid)


@route("GET", "/nodes/{node}/qemu/{vmid}/cloudinit", "", perm("/vms/{vmid}", "VM.Audit"))
def read_cloudinit(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    names = ("ciuser", "nameserver", "searchdomain", "sshkeys")
    keys = [k for k in vm.config if k in names or k.startswith("ipconfig")]
    return [{"key": key, "value": vm.config[key]} for key in sorted(keys)]


@route(
    "PUT", "/nodes/{node}/qemu/{vmid}/resize", "disk!:str size!:str digest:str skiplock:bool", DISK
)
def resize(call: Call) -> str:
    vm = find(call.pve, call.node, call.vmid)
    key = call.params["disk"]
    if not is_drive(key):
        raise invalid({"disk": f"value '{key}' does not have a value in the enumeration"})
    if key in vm.config and is_cdrom(parse_drive(key, vm.config[key])):
        raise failed("you can't resize a cdrom")
    try:
        parse_size(call.params["size"].removeprefix("+"))
    except ValueError:
        raise invalid({"size": "value does not match the regex pattern"}) from None

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            await _grow(
                call.pve, task, find(call.pve, call.node, vm.vmid), key, call.params["size"]
            )

    return call.start("resize", str(vm.vmid), work)


async def _grow(pve: Hypervisor, task: Task, vm: Vm, key: str, wanted: str) -> None:
    need_unlocked(pve, vm)
    if key not in vm.config:
        raise failed(f"disk '{key}' does not exist")
    drive = parse_drive(key, vm.config[key])
    volume = pve.storages.volume(drive["file"], vm.node)
    asked = parse_size(wanted.removeprefix("+"))
    size = volume.size + asked if wanted.startswith("+") else asked
    if size < volume.size:
        raise failed("shrinking disks is not supported")
    shared = pve.storages.shared(volume.storage)
    async with pve.locks.storage(volume.storage, node=vm.node, shared=shared):
        await task.step("resize")
        more = size - volume.size if pve.storages.thick(volume.storage) else 0
        pve.storages.reserve(volume.storage, vm.node, more, volume.volid.split(":", 1)[1])
        pve.storages.volumes.put(volume.key, replace(volume, size=size, used=volume.used + more))
    drive["size"] = format_size(size)
    pve.vms.put(vm.key, vm.with_config({**vm.config, key: format_drive(drive)}))


@route(
    "POST",
    "/nodes/{node}/qemu/{vmid}/move_disk",
    "disk!:str storage:str format=raw|qcow2|vmdk delete:bool digest:str bwlimit:int:0.. "
    "target-vmid:int target-disk:str target-digest:str",
    DISK,
)
def move_disk(call: Call) -> str:
    vm = find(call.pve, call.node, call.vmid)
    key, storage = call.params["disk"], call.get("storage")
    if not storage:
        raise invalid({"storage": "property is missing and it is not optional"})
    call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
    if key not in vm.config:
        raise failed(f"disk '{key}' does not exist")

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            await _move(call, task, find(call.pve, call.node, vm.vmid), key)

    return call.start("qmmove", str(vm.vmid), work)


async def _move(call: Call, task: Task, vm: Vm, key: str) -> None:
    pve, storage = call.pve, call.params["storage"]
    need_unlocked(pve, vm)
    drive = parse_drive(key, vm.config[key])
    old = pve.storages.volume(drive["file"], vm.node)
    if old.storage == storage and not call.get("format"):
        raise failed("you can't move to the same storage with same format")
    new = await disks.copy(
        pve, task, old, node=vm.node, vmid=vm.vmid, storage=storage, format_=call.get("format")
    )
    config = {**vm.config, key: format_drive({**drive, "file": new.volid})}
    if call.get("delete"):
        pve.storages.remove(old)
    else:
        config[_free_unused(config)] = old.volid
    pve.vms.put(vm.key, vm.with_config(config))


@route("POST", "/nodes/{node}/qemu/{vmid}/template", "disk:str", perm("/vms/{vmid}", "VM.Allocate"))
def make_template(call: Call) -> str:
    vm = find(call.pve, call.node, call.vmid)
    if vm.is_template:
        raise failed("you can't convert a template to a template")
    if vm.is_running:
        raise failed("you can't convert a VM to template if VM is running")

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            await task.step("template")
            _freeze(call.pve, find(call.pve, call.node, vm.vmid))

    return call.start("qmtemplate", str(vm.vmid), work)


def _freeze(pve: Hypervisor, vm: Vm) -> None:
    """Disks become `base-…`: read only, and linked clones may stand on them."""
    config: dict[str, Any] = {**vm.config, "template": 1}
    for key, drive in vm.drives().items():
        volume = pve.storages.find(drive["file"], vm.node)
        if is_cdrom(drive) or volume is None or volume.vmid != vm.vmid:
            continue
        base = replace(volume, volid=volume.volid.replace(f"vm-{vm.vmid}-", f"base-{vm.vmid}-"))
        pve.storages.volumes.drop(volume.key)
        pve.storages.volumes.put(base.key, base)
        config[key] = format_drive({**drive, "file": base.volid})
    pve.vms.put(vm.key, replace(vm, config=config))

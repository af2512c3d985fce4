"""Changing a VM's configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from talops.lab.proxmox.errors import failed, invalid, missing_vm
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema import api
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage import allocation as disks
from talops.lab.proxmox.vm.cloudinit import regenerated
from talops.lab.proxmox.vm.config import check_balloon, check_boot, check_drives, normalise
from talops.lab.proxmox.vm.drives import is_cdrom, is_cloudinit, is_drive, parse, parse_drive
from talops.lab.proxmox.vm.hotplug import stuck
from talops.lab.proxmox.vm.params import NOT_CONFIG
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked
from talops.lab.proxmox.vm.rights import check_change, check_delete, check_gone, check_update

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.tasks import Task


@route("PUT", "/nodes/{node}/qemu/{vmid}/config")
async def update(call: Call) -> None:
    changes, removed = _asked(call)
    _early(call, changes, removed)
    await _update(call, None, changes, removed)


@route("POST", "/nodes/{node}/qemu/{vmid}/config")
def update_as_task(call: Call) -> str:
    changes, removed = _asked(call)
    _early(call, changes, removed)
    skip = {"node", "vmid", "digest", "background_delay", "skiplock"}
    said = [f"-{key} {value}" for key, value in sorted(call.params.items()) if key not in skip]

    async def work(task: Task) -> None:
        task.log(f"update VM {call.vmid}: {' '.join(said)}")
        await _update(call, task, changes, removed)

    return call.start("qmconfig", str(call.vmid), work)


@route("PUT", "/nodes/{node}/qemu/{vmid}/unlink")
async def unlink(call: Call) -> None:
    given = {key: value for key, value in call.params.items() if key != "idlist"}
    await update(replace(call, params={**given, "delete": call.params["idlist"]}))


def _asked(call: Call) -> tuple[dict[str, Any], list[str]]:
    """Keys to set and to remove, checked as far as possible without the VM."""
    if call.get("skiplock") and not call.is_root:
        raise invalid({"skiplock": "Only root may use this option."})
    given = {key: value for key, value in call.params.items() if key not in NOT_CONFIG}
    changes = normalise(given)
    if not (call.get("delete") or call.get("revert") or given):
        raise failed("no options specified")
    removed = ["ide2" if n == "cdrom" else n for n in split_list(str(call.get("delete", "")))]
    reverted = split_list(str(call.get("revert", "")))
    for name, keys in (("revert", reverted), ("delete", removed)):
        for key in keys:
            if key in changes:
                problem = f"you can't use '-{key}' and -{name} {key}' at the same time"
                raise invalid({"delete": problem})
            if api.vm_options().find(key) is None:
                raise invalid({name: f"unknown option '{key}'"})
    check_drives(call.pve.storages, changes)
    _check_hookscript(call, changes)
    check_delete(call, removed, call.vmid)
    check_update(call, changes, call.vmid)
    return changes, removed


def _check_hookscript(call: Call, changes: dict[str, Any]) -> None:
    script = str(changes.get("hookscript") or "")
    if script and call.pve.storages.find(script, call.node) is None:
        raise invalid({"hookscript": f"script '{script}' does not exist\n"})


def _early(call: Call, changes: dict[str, Any], removed: list[str]) -> Vm:
    """Checks that Proxmox runs before it waits for the VM's lock, and again when it has it."""
    vm = find(call.pve, call.node, call.vmid)
    if call.get("digest") not in {None, vm.digest()}:
        raise failed("checksum mismatch (file change by other user?)")
    if not call.get("skiplock"):
        need_unlocked(call.pve, vm)
    after = {k: v for k, v in {**vm.config, **changes}.items() if k not in removed}
    check_balloon(changes, after)
    return vm


async def _update(
    call: Call, task: Task | None, changes: dict[str, Any], removed: list[str]
) -> None:
    pve, vmid = call.pve, call.vmid
    async with pve.locks.config(vmid):
        vm = _early(call, changes, removed)
        reverted = split_list(str(call.get("revert", "")))
        removed = [*removed, *(key for key in reverted if key not in (vm.running or vm.config))]
        back = {key: (vm.running or {})[key] for key in reverted if key in (vm.running or {})}
        _check_removed(call, vm, removed)
        check_change(call, changes, vm.config, vmid)
        config = _shorter_boot(without(pve, vm, removed, force=bool(call.get("force"))), removed)
        check_boot(changes, {**config, **changes})
        config |= back
        for key, value in changes.items():
            if is_drive(key):
                config = await _set_drive(pve, task, replace(vm, config=config), key, value)
            elif key == "description" and not value:
                config.pop(key, None)
            elif key == "boot":
                config[key] = _boot_string(str(value))
            elif key == "vmgenid" and value == "1":
                config[key] = str(uuid4())
            else:
                config[key] = value
        changed = find(pve, call.node, vmid).with_config(config)
        if any(is_drive(key) and is_cloudinit(changes[key]) for key in changes):
            changed = regenerated(pve, changed)
        await _plug(call, vm, changed, removed)


def _boot_string(value: str) -> str:
    order = parse(value, "legacy").get("order", "")
    return f"order={';'.join(split_list(order))}" if order else value


async def _plug(call: Call, before: Vm, after: Vm, removed: list[str]) -> None:
    """Store the change; a device that the guest does not release stays until it is off."""
    problems = stuck(call.pve, before, [key for key in removed if key in before.config])
    if not problems:
        call.pve.vms.put(after.key, after)
        return
    held = {key: before.config[key] for key in problems}
    volumes = {str(value).split(",", maxsplit=1)[0] for value in held.values()}
    config = {
        key: value
        for key, value in after.config.items()
        if not (key.startswith("unused") and value in volumes)
    }
    running = {**(after.running or {}), **held}
    call.pve.vms.put(after.key, replace(after, config=config, running=running))
    raise invalid(problems)


def _check_removed(call: Call, vm: Vm, removed: list[str]) -> None:
    for key in removed:
        value = vm.config.get(key)
        if value is None:
            continue
        drive = is_drive(key) or key.startswith("unused")
        if drive and vm.config.get("protection"):
            what = f"unused disk '{value}'" if key.startswith("unused") else f"drive '{key}'"
            raise failed(f"can't remove {what} - protection mode enabled")
        check_gone(call, key, value, vm.vmid)


def _shorter_boot(config: dict[str, Any], removed: list[str]) -> dict[str, Any]:
    """Removed devices are removed from the boot order."""
    boot = parse(str(config.get("boot", "")), "legacy")
    devices = [device for device in boot.get("order", "").split(";") if device]
    kept = [device for device in devices if device not in removed]
    if kept == devices:
        return config
    return {**config, "boot": f"order={';'.join(kept)}" if kept else " "}


def without(pve: Hypervisor, vm: Vm, keys: list[str], *, force: bool = False) -> dict[str, Any]:
    """The configuration without these keys; a disk of its own stays as `unusedN`."""
    config = dict(vm.config)
    for key in keys:
        value = config.pop(key, None)
        if value is None:
            continue
        volid = str(value).split(",", maxsplit=1)[0]
        volume = pve.storages.find(volid, vm.node) if ":" in volid else None
        if volume is None or volume.vmid != vm.vmid:
            continue
        drive = parse_drive(str(value)) if is_drive(key) else {"file": volid}
        if key.startswith("unused") or force or is_cloudinit(drive):
            pve.storages.remove(volume)
        else:
            config[free_unused(config)] = volid
    return config


def free_unused(config: dict[str, Any]) -> str:
    return next(name for n in range(256) if (name := f"unused{n}") not in config)


def _need_one_cloudinit(config: dict[str, Any], key: str, drive: dict[str, str]) -> None:
    if not is_cloudinit(drive):
        return
    for other in sorted(other for other in config if is_drive(other) and other != key):
        if is_cloudinit(parse_drive(str(config[other]))):
            raise failed(f"{key} - cloud-init drive is already attached at '{other}'")


async def _set_drive(
    pve: Hypervisor, task: Task | None, vm: Vm, key: str, drive: dict[str, str]
) -> dict[str, Any]:
    old = vm.config.get(key)
    current = parse_drive(old) if old else None
    config = dict(vm.config)
    if current and is_cloudinit(current) and drive["file"].endswith(":cloudinit"):
        drive = {**drive, "file": current["file"], "media": "cdrom"}
    if current and current["file"] != drive["file"]:
        own = is_cloudinit(current) or not is_cdrom(current)
        config = without(pve, vm, [key]) if own else config
    _need_one_cloudinit(config, key, drive)
    text, made = await disks.attach(pve, task, vm.node, vm.vmid, key, dict(drive))
    if made and vm.key not in pve.vms:  # destroyed while the storage was busy
        pve.storages.remove(made)
        raise missing_vm(vm.node, vm.vmid)
    final = parse_drive(text)
    # An unused disk that is attached is no longer unused.
    config = {
        k: v for k, v in config.items() if not (k.startswith("unused") and v == final["file"])
    }
    config[key] = text
    boot = parse(str(config.get("boot", "")), "legacy").get("order", "")
    if boot and is_cdrom(final) and not is_cloudinit(final) and key not in boot.split(";"):
        config["boot"] = f"order={boot};{key}"
    return config

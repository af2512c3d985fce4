"""Moving a VM to another node of the same cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage import allocation as disks
from talops.lab.proxmox.vm.drives import format_drive, is_cdrom, is_cloudinit, parse
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.volumes import Volume
    from talops.lab.proxmox.tasks import Task


@route("GET", "/nodes/{node}/qemu/{vmid}/migrate")
def precondition(call: Call) -> dict[str, Any]:
    vm = find(call.pve, call.node, call.vmid)
    local = [volume for _, volume in _local(call.pve, vm)]
    return {
        "running": int(vm.is_running),
        "allowed_nodes": [name for name in call.pve.nodes if name != vm.node],
        "local_disks": [
            {"volid": v.volid, "size": v.size, "cdrom": 0, "is_unused": 0} for v in local
        ],
        "local_resources": [key for key in vm.config if key.startswith("hostpci")],
        "mapped-resources": [],
    }


@route("POST", "/nodes/{node}/qemu/{vmid}/migrate")
def migrate(call: Call) -> str:
    target = call.params["target"]
    if target == call.node:
        raise invalid({"target": "target is local node."})
    if target not in call.pve.nodes or call.pve.offline(target):
        raise failed(f"no such cluster node '{target}'")
    for name in ("force", "migration_type", "migration_network"):
        if call.get(name) and not call.is_root:
            raise invalid({name: "Only root may use this option."})
    vm = find(call.pve, call.node, call.vmid)
    need_unlocked(call.pve, vm)
    if vm.is_running and not call.get("online"):
        raise failed("can't migrate running VM without --online")
    _check_storages(call, target)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            await _migrate(call, task, find(call.pve, call.node, vm.vmid))

    return call.start("qmigrate", str(vm.vmid), work)


def _check_storages(call: Call, target: str) -> None:
    """Target storages for the disks: they exist, hold images, and the caller may use space."""
    given = split_list(str(call.get("targetstorage", "")))
    if given and "1" not in given:
        call.need(f"/vms/{call.vmid}", "VM.Config.Disk")
    for name in (pair.rpartition(":")[2] for pair in given if pair != "1"):
        entry = call.pve.storages.on_node(name, target)
        call.need(f"/storage/{name}", "Datastore.AllocateSpace")
        if "images" not in split_list(str(entry.get("content", ""))):
            raise failed(f"storage '{name}' does not support vm images")


def _local(pve: Hypervisor, vm: Vm) -> list[tuple[str, Volume]]:
    return [
        (key, pve.storages.volume(drive["file"], vm.node))
        for key, drive in vm.drives().items()
        if drive["file"] not in {"none", "cdrom"}
        and not pve.storages.shared(drive["file"].split(":")[0])
    ]


async def _migrate(call: Call, task: Task, vm: Vm) -> None:
    pve, target = call.pve, call.params["target"]
    need_unlocked(pve, vm)
    _check(call, vm)
    pve.vms.put(vm.key, replace(vm, config={**vm.config, "lock": "migrate"}))
    made: list[Volume] = []
    moved: list[Volume] = []
    config = dict(vm.config)
    try:
        await task.step("migrate", f"starting migration of VM {vm.vmid} to node '{target}'")
        for key, volume in _local(pve, vm):
            if is_cdrom(vm.drives()[key]) and not is_cloudinit(vm.drives()[key]):
                continue
            storage = _target_storage(call, volume.storage)
            new = await disks.copy(
                pve, task, volume, node=vm.node, vmid=vm.vmid, storage=storage, target_node=target
            )
            made.append(new)
            moved.append(volume)
            config[key] = format_drive({**vm.drives()[key], "file": new.volid})
        await task.step("switch-over")
    except BaseException:
        disks.free_all(pve.storages, made)
        pve.vms.put(vm.key, vm)
        raise
    disks.free_all(pve.storages, moved)
    running = dict(config) if vm.is_running else None
    pve.vms.put(vm.key, replace(vm, node=target, config=config, running=running))
    task.log("migration finished successfully")


def _check(call: Call, vm: Vm) -> None:
    pve, target = call.pve, call.params["target"]
    for key, volume in _local(pve, vm):
        cdrom = is_cdrom(vm.drives()[key]) and not is_cloudinit(vm.drives()[key])
        if cdrom and not pve.storages.find(volume.volid, target):
            raise failed(f"can't migrate local cdrom drive '{volume.volid}'")
        if not cdrom and vm.is_running and not call.get("with-local-disks"):
            raise failed(
                f"can't migrate local disk '{volume.volid}': can't live migrate attached "
                "local disks without with-local-disks option"
            )
        if not cdrom and volume.base:
            raise failed(
                f"can't migrate local disk '{volume.volid}': linked clone on a local storage"
            )
        if not cdrom:
            pve.storages.need_content(_target_storage(call, volume.storage), target, "images")
    for key, value in vm.config.items():
        if key.startswith("hostpci") and (vm.is_running or "mapping" not in parse(value, "host")):
            raise failed(f"can't migrate VM which uses local devices: {key}")


def _target_storage(call: Call, storage: str) -> str:
    for pair in str(call.get("targetstorage", "")).split(","):
        source, separator, target = pair.partition(":")
        if pair and pair != "1" and (not separator or source == storage):
            return target or pair
    return storage

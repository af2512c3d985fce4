"""Creating and destroying VMs."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.pools import add_to_pool, leave_pool
from talops.lab.proxmox.errors import PveError, denied, failed, invalid
from talops.lab.proxmox.locks import IMPATIENT
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage import allocation as disks
from talops.lab.proxmox.vm.config import (
    check_balloon,
    check_drives,
    default_boot,
    normalise,
    with_identity,
)
from talops.lab.proxmox.vm.drives import is_drive
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked
from talops.lab.proxmox.vm.rights import check_create

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.volumes import Volume
    from talops.lab.proxmox.tasks import Task


@route("POST", "/nodes/{node}/qemu")
def create(call: Call) -> str:
    pve, vmid, pool = call.pve, call.vmid, call.get("pool")
    _check_caller(call, vmid, pool)
    config = normalise(call.params)
    check_create(call, config, vmid, pool)
    check_drives(pve.storages, config)
    taken = pve.vms.get(str(vmid))
    if taken:
        raise failed(
            f"unable to create VM {vmid} - VM {vmid} already exists on node '{taken.node}'"
        )
    pve.vms.put(str(vmid), Vm(vmid, call.node, {"lock": "create"}))

    async def work(task: Task) -> None:
        await _build(call, task, config)

    return call.start("qmcreate", str(vmid), work, lambda: _unreserve(pve, vmid))


def _check_caller(call: Call, vmid: int, pool: str | None) -> None:
    if pool is not None and pool not in call.pve.pools:
        raise denied(f"pool '{pool}' does not exist")
    if call.get("storage"):
        call.need(f"/storage/{call.params['storage']}", "Datastore.AllocateSpace")
    if call.get("ha-managed"):
        call.need("/", "Sys.Console")
    if call.get("start") and not (pool and call.may(f"/pool/{pool}", "VM.PowerMgmt")):
        call.need(f"/vms/{vmid}", "VM.PowerMgmt")
    if call.may(f"/vms/{vmid}", "VM.Allocate"):
        return
    if not (pool and call.may(f"/pool/{pool}", "VM.Allocate")):
        raise denied("")  # Proxmox does not say which of the two is missing


def _unreserve(pve: Hypervisor, vmid: int) -> None:
    """The worker removes the locked configuration when it fails, but not when it is killed."""
    vm = pve.vms.get(str(vmid))
    if vm and vm.config == {"lock": "create"}:
        pve.vms.drop(str(vmid))


async def _build(call: Call, task: Task, config: dict[str, Any]) -> None:
    pve, vmid = call.pve, call.vmid
    made: list[Volume] = []
    final = dict(config)
    async with pve.locks.config(vmid, wait=IMPATIENT):
        try:
            check_balloon(config, config)
            for key in sorted(key for key in config if is_drive(key)):
                final[key], volume = await disks.attach(
                    pve, task, call.node, vmid, key, config[key]
                )
                if volume:
                    made.append(volume)
            await task.step("config")
            if config.get("tags") and not call.is_root:
                # On the VM itself, because it joins its pool later.
                call.need(f"/vms/{vmid}", "VM.Config.Options")
        except (PveError, CancelledError) as error:
            disks.free_all(pve.storages, made)
            if isinstance(error, PveError):
                raise failed(f"unable to create VM {vmid} - {error.spoken()}") from error
            raise
        if not final.get("boot"):
            final["boot"] = default_boot(final)
        final = with_identity(final, int(pve.clock.now()))
        pve.vms.put(str(vmid), Vm(vmid, call.node, final))
        if call.get("pool"):
            add_to_pool(pve, call.params["pool"], vmid)
    if call.get("start"):
        from talops.lab.proxmox.vm.power import power_on

        await power_on(pve, task, pve.vms[str(vmid)])


@route("DELETE", "/nodes/{node}/qemu/{vmid}")
def destroy(call: Call) -> str:
    if call.get("skiplock") and not call.is_root:
        raise invalid({"skiplock": "Only root may use this option."})
    vm = find(call.pve, call.node, call.vmid)
    _check_destroyable(call, vm)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            await _remove(call, task)

    return call.start("qmdestroy", str(vm.vmid), work)


def _check_destroyable(call: Call, vm: Vm) -> None:
    if vm.config.get("protection"):
        raise failed(f"can't remove VM {vm.vmid} - protection mode enabled")
    if f"vm:{vm.vmid}" in call.pve.ha and not call.get("purge"):
        raise failed(
            f"unable to remove VM {vm.vmid} - used in HA resources and purge parameter not set."
        )
    if vm.is_running:
        raise failed(f"VM {vm.vmid} is running - destroy failed")


async def _remove(call: Call, task: Task) -> None:
    pve = call.pve
    vm = find(pve, call.node, call.vmid)
    _check_destroyable(call, vm)
    if not call.get("skiplock"):
        need_unlocked(pve, vm)
    await task.step("destroy")
    owned = _owned(call, vm)
    bases = {volume.volid for volume in owned}
    users = [v for v in pve.storages.volumes.values() if v.base in bases and v.vmid != vm.vmid]
    if users:
        raise failed(f"base volume '{users[0].base}' is still in use by linked cloned")
    for volume in sorted(owned, key=lambda v: v.base == ""):
        pve.storages.remove(volume)
    pve.vms.drop(vm.key)
    leave_pool(pve, vm.vmid)
    for key, entry in pve.acl.items():
        if entry["path"] == f"/vms/{vm.vmid}":
            pve.acl.drop(key)
    pve.rights.changed()
    if call.get("purge"):
        task.log(f"purging VM {vm.vmid} from related configurations..")
        pve.ha.drop(f"vm:{vm.vmid}")
    await pve.machine_gone(vm)


def _owned(call: Call, vm: Vm) -> list[Volume]:
    """The volumes with the VM's number: those of its configuration, or all of them."""
    found = call.pve.storages.of_vm(vm.vmid, vm.node)
    if call.get("destroy-unreferenced-disks"):
        return found
    both = [*vm.config.values(), *(vm.running or {}).values()]
    named = {str(value).split(",", maxsplit=1)[0] for value in both} | vm.volids()
    return [volume for volume in found if volume.volid in named]

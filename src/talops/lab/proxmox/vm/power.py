"""Power: start, stop, shutdown, reboot, reset, and the machine that the guest sees."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.lab.machine import Disk, Machine, Nic, StaticNetwork
from talops.lab.proxmox.errors import PveError, failed, invalid, nowhere
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.vm.cloudinit import regenerated
from talops.lab.proxmox.vm.drives import is_cdrom, is_cloudinit, parse, parse_size
from talops.lab.proxmox.vm.hotplug import has_system, switched_off
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.tasks import Task


@route("POST", "/nodes/{node}/qemu/{vmid}/status/start")
def start(call: Call) -> str:
    """All errors come from the task, even for a VM that does not exist."""
    _root_only(call, "skiplock", "stateuri", "migratedfrom", "force-cpu")

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            current = find(call.pve, call.node, call.vmid)
            if current.is_template:
                raise failed("you can't start a vm if it's a template")
            if not call.get("skiplock"):
                need_unlocked(call.pve, current)
            if current.is_running:
                raise failed(f"VM {call.vmid} already running")
            await power_on(call.pve, task, current)

    return call.start("qmstart", str(call.vmid), work)


def _root_only(call: Call, *names: str) -> None:
    for name in names:
        if call.get(name) and not call.is_root:
            raise invalid({name: "Only root may use this option."})


@route("POST", "/nodes/{node}/qemu/{vmid}/status/stop")
def stop(call: Call) -> str:
    return _off(call, "qmstop", graceful=False)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/shutdown")
def shutdown(call: Call) -> str:
    if call.pve.paused(call.vmid):
        if not call.get("forceStop"):
            raise failed("VM is paused - cannot shutdown")
        return _off(call, "qmshutdown", graceful=False)
    return _off(call, "qmshutdown", graceful=True)


def _off(call: Call, kind: str, *, graceful: bool) -> str:
    _root_only(call, "skiplock", "keepActive")

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            current = find(call.pve, call.node, call.vmid)
            if not call.get("skiplock"):
                need_unlocked(call.pve, current)
            await task.step("power-off")
            deaf = graceful and current.is_running and not has_system(call.pve, current)
            if deaf and not call.get("forceStop"):
                raise failed("VM quit/powerdown failed - got timeout")
            await power_off(call.pve, current, graceful=graceful and not deaf)

    return call.start(kind, str(call.vmid), work)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/reboot")
def reboot(call: Call) -> str:
    """A clean shutdown and a start, with pending changes applied."""
    if call.pve.paused(call.vmid):
        raise failed("VM is paused - cannot shutdown")
    return _again(call, "qmreboot", graceful=True)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/reset")
def reset(call: Call) -> str:
    _root_only(call, "skiplock")
    return _again(call, "qmreset", graceful=False)


def _running(call: Call) -> Vm:
    vm = call.pve.vms.get(str(call.vmid))
    if vm is None or vm.node != call.node:
        raise nowhere(call.node, call.vmid)
    if not vm.is_running:
        raise failed(f"VM {call.vmid} not running")
    return vm


def _again(call: Call, kind: str, *, graceful: bool) -> str:
    vm = _running(call)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            current = find(call.pve, call.node, vm.vmid)
            need_unlocked(call.pve, current)
            await power_off(call.pve, current, graceful=graceful)
            await power_on(call.pve, task, find(call.pve, call.node, vm.vmid))

    return call.start(kind, str(vm.vmid), work)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/suspend")
def suspend(call: Call) -> str:
    """Pause the guest; it keeps its memory and its addresses."""
    _root_only(call, "skiplock")
    if call.get("todisk"):
        raise PveError(501, "suspending to disk is not simulated")
    return _halt(call, "qmpause", halted=True)


@route("POST", "/nodes/{node}/qemu/{vmid}/status/resume")
def resume(call: Call) -> str:
    _root_only(call, "skiplock", "nocheck")
    return _halt(call, "qmresume", halted=False)


def _halt(call: Call, kind: str, *, halted: bool) -> str:
    vm = _running(call)

    async def work(_: Task) -> None:
        async with call.pve.locks.config(vm.vmid):
            need_unlocked(call.pve, find(call.pve, call.node, vm.vmid))
            call.pve.halt(vm.vmid, halted=halted)

    return call.start(kind, str(vm.vmid), work)


async def power_on(pve: Hypervisor, task: Task, vm: Vm) -> None:
    await task.step("power-on")
    machine = describe(pve, vm)
    allowed = pve.nodes[vm.node].cores
    if vm.cores > allowed:
        raise failed(f"MAX {allowed} vcpus allowed per VM on this node")
    _check_devices(pve, vm, machine)
    if machine.uefi and "efidisk0" not in vm.config:
        task.warn("no efidisk configured! Using temporary efivars disk.")
    await pve.machines.power_on(machine)
    vm = regenerated(pve, vm)
    since = int(pve.clock.now())
    pve.vms.put(vm.key, replace(vm, running=dict(vm.config), since=since))


async def power_off(pve: Hypervisor, vm: Vm, *, graceful: bool) -> None:
    if not vm.is_running:
        return
    await pve.machines.power_off(uuid_of(vm), graceful=graceful)
    pve.halt(vm.vmid, halted=False)
    pve.vms.put(vm.key, switched_off(pve, pve.vms[vm.key]))


# -- what the guest sees -----------------------------------------------------------------------


def uuid_of(vm: Vm) -> str:
    return parse(str(vm.config.get("smbios1", "")), "uuid").get("uuid", f"vm-{vm.vmid}")


def describe(pve: Hypervisor, vm: Vm) -> Machine:
    """The machine as it would boot now; refuses VMs that a real host cannot start."""
    config, node = vm.config, pve.nodes[vm.node]
    cdrom: Path | None = None
    found: list[Disk] = []
    network: StaticNetwork | None = None
    for slot, drive in vm.drives().items():
        if drive["file"] in {"none", "cdrom"}:
            continue
        volume = pve.storages.volume(drive["file"], vm.node)
        if is_cloudinit(drive):
            network = static_network(vm)
        elif is_cdrom(drive):
            cdrom = cdrom or volume.path
        elif slot not in {"efidisk0", "tpmstate0"}:
            size = parse_size(drive["size"]) if "size" in drive else volume.size
            found.append(Disk(slot, size, drive.get("serial", ""), volume.path))
    efi = vm.drives().get("efidisk0", {})
    return Machine(
        uuid=uuid_of(vm),
        vmid=vm.vmid,
        node=node.name,
        name=vm.name,
        cores=vm.cores,
        memory=vm.memory,
        nics=_nics(pve, vm),
        disks=tuple(_boot_first(vm, found)),
        cdrom=cdrom,
        network=network,
        uefi=config.get("bios") == "ovmf",
        secureboot=efi.get("pre-enrolled-keys") == "1",
        tpm="tpmstate0" in config,
        pci=pve.devices_of(vm),
    )


def _boot_first(vm: Vm, found: list[Disk]) -> list[Disk]:
    order = parse(str(vm.config.get("boot", "")), "legacy").get("order", "").split(";")
    return sorted(found, key=lambda disk: order.index(disk.slot) if disk.slot in order else 99)


def _nics(pve: Hypervisor, vm: Vm) -> tuple[Nic, ...]:
    found = []
    for key in sorted(
        (k for k in vm.config if re.fullmatch(r"net\d+", k)), key=lambda k: int(k[3:])
    ):
        options = parse(vm.config[key], "model")
        mac = next(value for value in options.values())
        bridge = options.get("bridge", "")
        if bridge and not pve.has_bridge(vm.node, bridge):
            raise failed(f"bridge '{bridge}' does not exist")
        vlan, mtu = options.get("tag"), options.get("mtu")
        found.append(Nic(mac, bridge, int(vlan) if vlan else None, int(mtu) if mtu else None))
    return tuple(found)


def static_network(vm: Vm) -> StaticNetwork | None:
    """The settings of the first interface on the cloud-init drive."""
    options = parse(str(vm.config.get("ipconfig0", "")), "ip")
    address = options.get("ip", "")
    if not address or address == "dhcp":
        return None
    servers = str(vm.config.get("nameserver", "")).split()
    search = vm.config.get("searchdomain")
    return StaticNetwork(
        address, options.get("gw"), tuple(servers), str(search) if search else None
    )


def _check_devices(pve: Hypervisor, vm: Vm, machine: Machine) -> None:
    for other in pve.vms.values() if machine.pci else ():
        if other.vmid == vm.vmid or not other.is_running or other.node != vm.node:
            continue
        taken = set(machine.pci) & set(pve.devices_of(other))
        if taken:
            raise failed(f"PCI device '{min(taken)}' already in use by VMID '{other.vmid}'")

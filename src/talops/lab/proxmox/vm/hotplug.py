"""Removing devices from a running VM: its guest must release them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.vm.drives import is_cloudinit, is_drive
from talops.lab.proxmox.vm.params import kind

if TYPE_CHECKING:
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.vm.records import Vm

DEFAULT = "network,disk,usb"
PER_CONTROLLER = 7  # SCSI devices; with `virtio-scsi-single` each has a controller of its own
WAITING = frozenset({"ide", "sata", "efidisk", "tpmstate"})


def stuck(pve: Hypervisor, vm: Vm, removed: list[str]) -> dict[str, str]:
    """The devices that a guest without an operating system does not release, and the errors."""
    if not vm.is_running or has_system(pve, vm):
        return {}
    found = {}
    for key in removed:
        device = _device(vm, key)
        if device:
            problem = f"error on hot-unplugging device '{device}' - still busy in guest?"
            found[key] = f"hotplug problem - {problem}\n"
    return found


def has_system(pve: Hypervisor, vm: Vm) -> bool:
    """Whether an operating system has booted that handles hardware events: an image or a CD."""
    for drive in vm.drives().values():
        volume = pve.storages.find(drive["file"], vm.node)
        if volume and volume.path and not is_cloudinit(drive):
            return True
    return False


def switched_off(pve: Hypervisor, vm: Vm) -> Vm:
    """The stopped VM; a disk that its guest did not release is released now."""
    held = [v for k, v in (vm.running or {}).items() if is_drive(k) and k not in vm.config]
    config = dict(vm.config)
    known = {str(value).split(",", maxsplit=1)[0] for value in config.values()}
    for value in held:
        volid = str(value).split(",", maxsplit=1)[0]
        volume = pve.storages.find(volid, vm.node)
        if volume and volume.vmid == vm.vmid and volid not in known:
            free = next(f"unused{n}" for n in range(256) if f"unused{n}" not in config)
            config[free] = volid
    return replace(vm, config=config, running=None, since=0)


def _device(vm: Vm, key: str) -> str:
    """The device to unplug for a key; nothing if the key needs no hotplug."""
    features = split_list(str(vm.config.get("hotplug", DEFAULT)))
    running = vm.running or {}
    if key not in running or kind(key) in WAITING:
        return ""
    if kind(key) == "net":
        return key if "network" in features else ""
    if not is_drive(key) or "disk" not in features:
        return ""
    if kind(key) != "scsi":
        return key
    return _controller(vm, key)


def _controller(vm: Vm, key: str) -> str:
    """A controller is removed with its last disk."""
    number = int(key.removeprefix("scsi"))
    if vm.config.get("scsihw") == "virtio-scsi-single":
        return f"virtioscsi{number}"
    mine = number // PER_CONTROLLER
    others = [
        name
        for name in (vm.running or {})
        if kind(name) == "scsi" and name != key and name.removeprefix("scsi").isdigit()
    ]
    shared = any(int(name.removeprefix("scsi")) // PER_CONTROLLER == mine for name in others)
    return "" if shared else f"scsihw{mine}"

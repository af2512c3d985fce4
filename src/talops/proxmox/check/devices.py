"""GPUs: present, alone in their IOMMU group, and not used by another VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox.check.ours import foreign
from talops.proxmox.check.problem import problem, unread
from talops.proxmox.facts import Unread
from talops.proxmox.wanted import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Device, Facts, MappedDevice
    from talops.proxmox.wanted import Wanted, WantedVm

PCI_BRIDGE = "0604"
IOMMU = (
    "enable the IOMMU: VT-d or AMD-Vi in the firmware, intel_iommu=on on the kernel's command "
    "line for Intel, then reboot the host"
)


def devices(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    using = [vm for vm in wanted.vms if vm.gpus]
    if not using:
        return
    if isinstance(facts.devices, Unread):
        yield unread("the PCI devices", facts.devices.reason, facts.devices.hint)
        return
    if isinstance(facts.mappings, Unread):
        yield unread("the PCI mappings", facts.mappings.reason, facts.mappings.hint)
        return
    for vm in using:
        for gpu in vm.gpus:
            yield from _gpu(wanted, facts, vm, gpu)
    yield from _shared_out(wanted, facts)


def paths_of(wanted: Wanted, facts: Facts, gpu: str, host: str) -> tuple[str, ...] | None:
    """The device's addresses on that host; None: no such mapping, (): no device of this host."""
    if is_address(gpu):
        return (gpu,)
    mapped = _mapped(wanted, facts, gpu)
    if mapped is None:
        return None
    return tuple(device.first_path for device in mapped if device.node == host)


def _mapped(wanted: Wanted, facts: Facts, gpu: str) -> tuple[MappedDevice, ...] | None:
    """The lines of the mapping, as layer 01 will create them or as they are; None: no mapping."""
    if gpu in wanted.managed.mappings:
        return wanted.managed.mappings[gpu]
    known = () if isinstance(facts.mappings, Unread) else facts.mappings
    return next((mapping.devices for mapping in known if mapping.name == gpu), None)


def _gpu(wanted: Wanted, facts: Facts, vm: WantedVm, gpu: str) -> Iterator[HostProblem]:
    paths = paths_of(wanted, facts, gpu, vm.host)
    if paths is None:
        yield problem(
            "mapping",
            f"there is no PCI mapping {gpu}, or {facts.who} may not see it; {vm.name} needs it",
            "talops host prepare creates it; or list it under hypervisors.pci_mappings",
            vm.where,
        )
        return
    if not paths:
        yield problem(
            "mapping",
            f"PCI mapping {gpu} has no device on host {vm.host}, where {vm.name} is to run",
            "add a device of this host to the mapping, or give the node another host",
            vm.where,
        )
    for path in paths:
        yield from _device(facts, vm, path)
        yield from _used(wanted, facts, vm, gpu, path)
    for line in _mapped(wanted, facts, gpu) or ():
        if line.node == vm.host:
            yield from _as_mapped(wanted, facts, vm, gpu, line)


def _as_mapped(
    wanted: Wanted, facts: Facts, vm: WantedVm, gpu: str, line: MappedDevice
) -> Iterator[HostProblem]:
    """Proxmox compares all of these before it starts a VM, and refuses on the first difference."""
    assert not isinstance(facts.devices, Unread)
    real = next(
        (d for d in facts.devices if d.host == vm.host and d.path.startswith(line.first_path)), None
    )
    if real is None or real.group is None:  # has a finding of its own
        return
    for key, said, is_ in (
        ("id", line.id, real.id),
        ("iommu_group", line.iommu_group, real.group),
        ("subsystem_id", line.subsystem_id, real.subsystem_id),
    ):
        if said == is_:
            continue
        yield problem(
            "mapping",
            f"PCI mapping {gpu} has {_told(key, said)} for device {real.path} of {vm.host}, which"
            f" has {_told(key, is_)}: Proxmox does not start {vm.name} with it",
            _mend(wanted, gpu, key, is_),
            vm.where,
        )


def _told(key: str, value: str | int | None) -> str:
    return f"no {key}" if value in {None, ""} else f"{key} {value}"


def _mend(wanted: Wanted, gpu: str, key: str, value: str | int) -> str:
    if gpu not in wanted.managed.mappings:
        return (
            "correct it in Proxmox under Resource Mappings, or delete it there and run: "
            "talops host prepare"
        )
    if value == "":
        return f"remove {key} from this device under hypervisors.pci_mappings"
    shown = value if isinstance(value, int) else f'"{value}"'
    return f"write {key}: {shown} for this device under hypervisors.pci_mappings"


def _device(facts: Facts, vm: WantedVm, path: str) -> Iterator[HostProblem]:
    assert not isinstance(facts.devices, Unread)
    here = [device for device in facts.devices if device.host == vm.host]
    found = [device for device in here if device.path.startswith(path)]
    if not found:
        yield problem(
            "gpu",
            f"host {vm.host} has no PCI device {path}; graphics cards there: {_cards(here)}",
            "correct the address (lspci -nn on the host shows all)",
            vm.where,
        )
        return
    if found[0].group is None:
        yield problem(
            "iommu", f"device {path} of {vm.host} is not in an IOMMU group", IOMMU, vm.host
        )
        return
    yield from _alone(found[0], here)


def _alone(card: Device, here: list[Device]) -> Iterator[HostProblem]:
    """Functions of the same card and the bridges above it do not count."""
    beside = [
        device
        for device in here
        if device.group == card.group
        and _slot(device.path) != _slot(card.path)
        and not device.class_.startswith(PCI_BRIDGE)
    ]
    if beside:
        listed = ", ".join(f"{device.path} {device.name}".strip() for device in beside)
        yield problem(
            "iommu",
            f"device {card.path} of {card.host} shares IOMMU group {card.group} with {listed}",
            "move the card to another slot, or enable ACS in the firmware: a group is passed "
            "through as a whole",
            card.host,
        )


def _cards(here: list[Device]) -> str:
    cards = [device for device in here if device.class_.startswith("03")]
    return ", ".join(f"{card.path} {card.name}".strip() for card in cards) or "none"


def _slot(path: str) -> str:
    """The functions of one card are passed through together."""
    return path.split(".", maxsplit=1)[0]


def _used(wanted: Wanted, facts: Facts, vm: WantedVm, gpu: str, path: str) -> Iterator[HostProblem]:
    for guest in foreign(wanted, facts):
        if guest.host != vm.host or guest.template:
            continue
        theirs = {
            _slot(p)
            for device in guest.devices
            for p in paths_of(wanted, facts, device, guest.host) or ()
        }
        if gpu in guest.devices or _slot(path) in theirs:
            state = "runs and has" if guest.running else "is stopped and has"
            yield problem(
                "gpu",
                f"VM {guest.vm_id} ({guest.name}) {state} the device {path} that {vm.name} needs",
                f"remove it from that VM: qm set {guest.vm_id} --delete hostpci0",
                vm.where,
                Severity.ERROR if guest.running else Severity.WARNING,
            )


def _shared_out(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    """Two VMs of the plan that would get the same device."""
    taken: dict[tuple[str, str], str] = {}
    for vm in wanted.vms:
        for gpu in vm.gpus:
            paths = paths_of(wanted, facts, gpu, vm.host) or ()
            free = [path for path in paths if (vm.host, _slot(path)) not in taken]
            if paths and not free:
                other = taken[vm.host, _slot(paths[0])]
                yield problem(
                    "gpu",
                    f"{vm.name} and {other} need the same device {paths[0]} of {vm.host}",
                    "one card serves one VM: remove it from one of them",
                    vm.where,
                )
            elif free:
                taken[vm.host, _slot(free[0])] = vm.name

"""VMIDs, MACs and addresses that VMs outside the plan use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox.check.ours import differences, foreign, is_recorded
from talops.proxmox.check.problem import problem, unread
from talops.proxmox.facts import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Guest
    from talops.proxmox.wanted import Wanted, WantedVm


def collisions(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.guests, Unread):
        yield unread("the existing VMs", facts.guests.reason, facts.guests.hint)
        return
    strangers = foreign(wanted, facts)
    others = [guest for guest in strangers if not is_recorded(guest, wanted)]
    for vm in wanted.vms:
        yield from _drifted(vm, [guest for guest in strangers if guest not in others])
        yield from _vm_id(vm, others, facts)
        for guest in others:
            yield from _same(vm, guest)
        yield from _hosts_own(vm, facts)
    unknown = [guest for guest in others if guest.macs is None]
    if unknown:
        listed = ", ".join(str(guest.vm_id) for guest in unknown[:5])
        yield problem(
            "unread",
            f"{facts.who} may not read the configuration of VM {listed}: MACs and addresses there "
            "may collide",
            "grant VM.Audit on /vms",
            "/vms",
            Severity.WARNING,
        )


def _drifted(vm: WantedVm, own: list[Guest]) -> Iterator[HostProblem]:
    """What the state lists is ours, whatever was changed by hand: the plan shows the way back."""
    found = next((g for g in own if g.vm_id == vm.vm_id or g.name == vm.name), None)
    if found:
        yield problem(
            "drifted",
            f"VM {found.vm_id} of this cluster's state {' and '.join(differences(found, vm))}",
            "talops up --dry-run shows what would change",
            vm.where,
            Severity.WARNING,
        )


def _of_cluster(vm: WantedVm, guest: Guest) -> bool:
    return bool(vm.cluster_tag) and vm.cluster_tag in guest.tags and not guest.template


def _vm_id(vm: WantedVm, others: list[Guest], facts: Facts) -> Iterator[HostProblem]:
    if vm.vm_id is None:
        return
    taken = next((guest for guest in others if guest.vm_id == vm.vm_id), None)
    another = "give this node another vm_id"
    if taken and taken.name == vm.name and not taken.template:
        wrong = " and ".join(differences(taken, vm))
        yield problem(
            "leftover",
            f"VM {vm.vm_id} is called {vm.name} and {wrong}: it was not created by this plan",
            f"remove it, or {another}; if it is yours, give it the tag and the MAC of {vm.name}",
            vm.where,
        )
    elif taken and _of_cluster(vm, taken):
        yield problem(
            "vmid",
            f"VMID {vm.vm_id} of {vm.name} belongs to {taken.name}, a node of this cluster",
            f"a node cannot be renamed: remove {taken.name} first (talops up --allow-destroy "
            f"{taken.name}) and then add {vm.name}, or {another}",
            vm.where,
        )
    elif taken:
        kind = "template" if taken.template else "VM"
        yield problem(
            "vmid",
            f"VMID {vm.vm_id} of {vm.name} is taken by {kind} {taken.name!r} on {taken.host}",
            another,
            vm.where,
        )
    elif vm.vm_id in facts.hidden_ids:
        yield problem(
            "vmid",
            f"VMID {vm.vm_id} of {vm.name} is taken by a VM that {facts.who} may not see",
            f"{another}, or grant VM.Audit on /vms to see whose it is",
            vm.where,
        )


def _same(vm: WantedVm, guest: Guest) -> Iterator[HostProblem]:
    named = f"VM {guest.vm_id} ({guest.name}) on {guest.host}"
    if vm.mac.upper() in (guest.macs or ()):
        hint = "change mac_addr"
        if _of_cluster(vm, guest):
            hint += f"; to give {vm.name} the MAC of {guest.name}, change {guest.name} first"
        yield problem("mac", f"{named} has the MAC {vm.mac} of {vm.name}", hint, vm.where)
    if vm.address in guest.addresses:
        yield problem(
            "address",
            f"{named} has the address {vm.address} of {vm.name}",
            "give this node another address",
            vm.where,
        )


def _hosts_own(vm: WantedVm, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.interfaces, Unread) or not vm.address:
        return
    for interface in facts.interfaces:
        if interface.address == vm.address:
            yield problem(
                "address",
                f"{vm.address} of {vm.name} is the address of {interface.name} on host "
                f"{interface.host}",
                "give this node another address",
                vm.where,
            )

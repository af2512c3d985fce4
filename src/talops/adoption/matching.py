"""Which existing VMs are the nodes of a running cluster, also of other tools. Pure.

A VM is a node only if its VMID, name, MAC and UUID are those of the node, and the running node
itself reports the same UUID and MAC with a certificate of the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.adoption.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.adoption.claims import PlannedVm
    from talops.proxmox.facts import Guest
    from talops.proxmox.wanted import WantedVm


@dataclass(frozen=True)
class Self:
    """What a running node reports about itself; `named`: the uuid in nodes.yaml."""

    uuid: str
    macs: frozenset[str]
    named: str | None = None


def match_nodes(
    missing: Iterable[PlannedVm], guests: Sequence[Guest], selves: Mapping[str, Self]
) -> tuple[list[Claim], list[str]]:
    """The VMs to adopt, and why each other node has none."""
    claims, doubts = [], []
    for wish in missing:
        near = [guest for guest in guests if _resembles(wish.vm, guest)]
        own = [guest for guest in near if not wrong(wish.vm, guest, selves[wish.vm.name])]
        if len(own) == 1:
            place = f"{own[0].host}/{own[0].vm_id}"
            claims.append(Claim(wish.layer, wish.address, place, f"VM {wish.vm.name}"))
        elif not near:
            number = f"VMID {wish.vm.vm_id}" if wish.vm.vm_id else "a VMID of nodes.yaml"
            doubts.append(f"{wish.vm.name}: no VM has {number}, its name or MAC {wish.vm.mac}")
        else:
            doubts += [
                f"{wish.vm.name}: VM {guest.vm_id} on {guest.host} "
                + "; ".join(wrong(wish.vm, guest, selves[wish.vm.name]) or ["matches, too"])
                for guest in near
            ]
    return claims, doubts


def wrong(vm: WantedVm, guest: Guest, me: Self) -> list[str]:
    """Why this VM is not that node; empty if it is."""
    found = [
        *_numbers(vm, guest),
        *_cards(vm, guest, me),
        *_uuids(guest, me),
    ]
    if guest.host != vm.host:
        found.append(f"is not on host {vm.host}")
    if guest.template:
        found.append("is a template")
    return found


def _numbers(vm: WantedVm, guest: Guest) -> list[str]:
    found = []
    if vm.vm_id is None:
        found.append(f"cannot be compared: write vm_id: {guest.vm_id} to nodes.yaml if it is it")
    elif vm.vm_id != guest.vm_id:
        found.append(f"does not have VMID {vm.vm_id}")
    if guest.name != vm.name:
        found.append(f"has the name {guest.name or 'nothing'}")
    return found


def _cards(vm: WantedVm, guest: Guest, me: Self) -> list[str]:
    if guest.macs is None:
        return ["has a configuration that could not be read"]
    found = []
    if vm.mac.upper() not in guest.macs:
        found.append(f"has MAC {', '.join(sorted(guest.macs)) or 'none'} instead of {vm.mac}")
    if vm.mac.upper() not in me.macs:
        found.append(f"is not the running node, which has no link with MAC {vm.mac}")
    return found


def _uuids(guest: Guest, me: Self) -> list[str]:
    if not guest.uuid:
        return ["has no UUID in smbios1"]
    found = []
    if guest.uuid != me.uuid:
        found.append(f"has UUID {guest.uuid}, the running node {me.uuid or 'none'}")
    if me.named and me.named.lower() != guest.uuid:
        found.append(f"has UUID {guest.uuid}, nodes.yaml says {me.named}")
    return found


def _resembles(vm: WantedVm, guest: Guest) -> bool:
    same_id = vm.vm_id is not None and vm.vm_id == guest.vm_id
    return same_id or guest.name == vm.name or vm.mac.upper() in (guest.macs or ())

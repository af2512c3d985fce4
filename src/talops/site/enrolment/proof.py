"""Whether the machine that answers is the node: the evidence for it, or the doubt. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from talops.errors import DeniedError
from talops.site.enrolment.machine import swapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.inventory.model import Node
    from talops.site.enrolment.machine import Machine
    from talops.site.enrolment.record import Entry


@dataclass(frozen=True)
class Acceptable:
    """A machine of which nothing is known, and which the user may accept by its key."""

    node: str
    address: str
    fingerprint: str
    uuid: str


class UnprovenMachineError(DeniedError):
    """The machine at the address of a node did not prove to be the node: it got no config."""

    acceptable: tuple[Acceptable, ...] = ()


class Doubt(StrEnum):
    """Why a machine gets no config."""

    OTHER = "other"  # something that it shows is not as the node's
    UNPROVEN = "unproven"  # nothing that it shows is known of the node
    RETURNED = "returned"  # the node had a config before
    SWAPPED = "swapped"  # the node had a config before, on another machine


@dataclass(frozen=True)
class KnownVm:
    """The VM of a node as Proxmox shows it. `verified`: Proxmox proved who it is."""

    place: str  # VM 101 on pve
    uuid: str
    macs: frozenset[str]
    verified: bool = True


@dataclass(frozen=True)
class Expected:
    """What is known of a node before its machine is asked."""

    node: Node
    entry: Entry
    vm: KnownVm | None = None
    # Why the VM of a node is not known.
    no_vm: str = ""
    # The key that the user accepted for this run.
    accepted: str = ""
    # It may get a config although it had one.
    reinstall: bool = False


@dataclass(frozen=True)
class Judgement:
    evidence: tuple[str, ...] = ()
    doubt: Doubt | None = None
    reason: str = ""
    hint: str = ""
    # What the user may accept; None if the machine must not get a config.
    acceptable: Acceptable | None = None


@dataclass(frozen=True)
class Candidate:
    """The machine that answers for a node, and what to think of it."""

    machine: Machine
    judgement: Judgement


def judge(expected: Expected, machine: Machine) -> Judgement:
    """A contradiction outweighs any evidence, and evidence alone does not end a previous life."""
    node = expected.node
    where = f"find out which machine uses {node.address}"
    if wrong := list(_contradictions(expected, machine)):
        return Judgement(
            doubt=Doubt.OTHER,
            reason=f"another machine answers: it {'; it '.join(wrong)}",
            hint=f"{where}, or correct {node.name} in nodes.yaml; then: talops up",
        )
    evidence = tuple(_evidence(expected, machine))
    if not evidence:
        return _unproven(expected, machine)
    if expected.entry.configured and not expected.reinstall:
        return Judgement(
            evidence,
            Doubt.SWAPPED if _other_machine(expected.entry, machine) else Doubt.RETURNED,
            _returned(expected.entry, machine),
            f"if you reinstalled {node.name}: talops up --reinstall {node.name}; otherwise {where}",
        )
    return Judgement(evidence)


def _contradictions(expected: Expected, machine: Machine) -> Iterator[str]:
    node, vm = expected.node, expected.vm
    if expected.accepted and machine.fingerprint != expected.accepted:
        yield f"has the key {machine.fingerprint} instead of the accepted {expected.accepted}"
    elif node.fingerprint and not _pinned(expected, machine):
        yield f"has the key {machine.fingerprint} instead of {node.fingerprint} (nodes.yaml)"
    if node.uuid and machine.uuid != node.uuid:
        yield f"has {_other_uuid(machine, node.uuid)} (nodes.yaml)"
    if vm and machine.uuid != vm.uuid and not _pinned(expected, machine):
        yield f"has {_other_uuid(machine, vm.uuid)} ({vm.place})"
    required = {node.mac} | (vm.macs if vm else set())
    if missing := sorted(required - machine.macs):
        yield f"lacks the MAC {', '.join(missing)} (it has {', '.join(sorted(machine.macs))})"


def _other_uuid(machine: Machine, wanted: str) -> str:
    order = ", which is the same in the other byte order" if swapped(wanted) == machine.uuid else ""
    return f"UUID {machine.uuid or 'none'} instead of {wanted}{order}"


def _pinned(expected: Expected, machine: Machine) -> bool:
    """Its key is one that a person vouches for."""
    known = {expected.node.fingerprint, expected.accepted, expected.entry.accepted}
    return machine.fingerprint in known - {None, ""}


def _evidence(expected: Expected, machine: Machine) -> Iterator[str]:
    node, vm, entry = expected.node, expected.vm, expected.entry
    if machine.fingerprint == node.fingerprint:
        yield "key as in nodes.yaml"
    elif _pinned(expected, machine):
        yield "accepted key"
    if node.uuid:
        yield "UUID as in nodes.yaml"
    if vm and machine.uuid == vm.uuid:
        unverified = "" if vm.verified else "; the certificate of Proxmox is not verified"
        yield f"UUID and MAC of {vm.place}{unverified}"
    if node.vm is None and entry.uuid and machine.uuid == entry.uuid:
        yield "UUID of the machine that got this config before"


def _unproven(expected: Expected, machine: Machine) -> Judgement:
    node = expected.node
    why = f"; {expected.no_vm}" if expected.no_vm else ""
    return Judgement(
        doubt=Doubt.UNPROVEN,
        reason=f"nothing proves which machine answers ({machine}){why}",
        hint=(
            f"compare the key with the console of {node.name}, then: talops up "
            f"--accept-fingerprint {node.name}={machine.fingerprint}; or add its `uuid` to "
            "nodes.yaml"
        ),
        acceptable=Acceptable(node.name, str(node.address), machine.fingerprint, machine.uuid),
    )


def _returned(entry: Entry, machine: Machine) -> str:
    since = f" (recorded {entry.time})" if entry.time else ""
    if _other_machine(entry, machine):
        return (
            f"it is in maintenance mode with UUID {machine.uuid or 'none'}, but the machine that "
            f"has the config{since} has UUID {entry.uuid}"
        )
    return f"it is back in maintenance mode, although it has a config{since}"


def _other_machine(entry: Entry, machine: Machine) -> bool:
    return bool(entry.uuid) and machine.uuid != entry.uuid


def refusal(doubted: Sequence[tuple[Node, Judgement]]) -> UnprovenMachineError:
    """One error for all nodes that get no config."""
    error = UnprovenMachineError(
        "no machine config was sent, because the machine is not proven to be the node:"
        + reasons(doubted),
        where=", ".join(node.name for node, _ in doubted),
        hint="; ".join(dict.fromkeys(found.hint for _, found in doubted)),
    )
    known = [found.acceptable for _, found in doubted if found.acceptable]
    if len(known) == len(doubted):
        error.acceptable = tuple(known)
    return error


def reasons(doubted: Sequence[tuple[Node, Judgement]]) -> str:
    """A line for each node: its address, and what answers there."""
    lines = (f"{node.name} ({node.address}): {found.reason}" for node, found in doubted)
    return "".join(f"\n  {line}" for line in lines)

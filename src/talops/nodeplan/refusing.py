"""Which changes are not safe in one run, and how they become safe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.nodeplan.machine import Cost
from talops.nodeplan.steps import Reason, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from talops.nodeplan.sorting import Changes
    from talops.nodeplan.steps import World

THEN = "run talops up, then apply the rest"


def refusals(changes: Changes, world: World) -> list[Refusal]:
    """Every reason why these changes must not be made as they are."""
    found = [*_taken(changes), *_two_owners(changes)]
    if world.members:
        found += _etcd(changes, world)
    return with_first_run(found, changes)


def with_first_run(found: Sequence[Refusal], changes: Changes) -> list[Refusal]:
    """What may change before the rest: whatever waits for nothing, and one control plane stays."""
    waiting = {name for refusal in found for name in refusal.waiting}
    going = {name for name in changes.removed if changes.old[name].controller}
    staying = {n for n, m in changes.old.items() if m.controller} - (going - waiting)
    coming = {n for n in changes.added if changes.new[n].controller} - waiting
    if going and not staying | coming:
        found = [*found, only(min(going), ())]
        waiting |= going
    first = tuple(sorted(changes.touched - waiting))
    return [replace(refusal, first=first) for refusal in found]


def only(name: str, heirs: Sequence[str]) -> Refusal:
    return Refusal(
        Reason.ONLY,
        f"{name} is the only control plane by then: without it, the data of the cluster is lost",
        "add control planes first, run talops up, then change this one; or save a snapshot "
        "(talops talos etcd snapshot FILE) and restore it with talops recover",
        (name, *heirs),
    )


def one_of_two(name: str) -> Refusal:
    return Refusal(
        Reason.PAIR,
        f"{name} is one of two etcd members: while it restarts, etcd has no majority",
        f"add a third control plane first, {THEN}",
        (name,),
    )


def _taken(changes: Changes) -> Iterator[Refusal]:
    """A node gets an address, MAC or VMID that another one still has."""
    owner = {value: name for name, machine in changes.old.items() for value in machine.identity}
    waits: dict[str, tuple[str, str, str]] = {}
    for name, machine in changes.new.items():
        for key, value in sorted(machine.identity):
            other = owner.get((key, value), name)
            inherits = name in changes.heirs.get(other, ())
            if other != name and not inherits:
                waits.setdefault(name, (other, key, value))
    park = _of_a_cycle({name: other for name, (other, _, _) in waits.items()})
    for name, (other, key, value) in waits.items():
        what = f"{name} gets the {_word(key)} {value}, which {other} still has"
        if other not in waits:
            yield Refusal(Reason.TAKEN, what, f"change {other} first, {THEN}", tuple(waits))
        elif name == park:
            safe = (
                f"in two steps: give {name} a free {_word(key)} and leave {other} as it is, run "
                f"talops up; then give {other} its new {_word(key)}, then {name}"
            )
            yield Refusal(Reason.TAKEN, what, safe, tuple(waits), park=park)


def _of_a_cycle(waits: Mapping[str, str]) -> str:
    """A node that, over others, waits for itself; "" if each chain ends."""
    for start in sorted(waits):
        name, seen = start, set[str]()
        while name in waits and name not in seen:
            seen.add(name)
            name = waits[name]
        if name in seen:
            return name
    return ""


def _two_owners(changes: Changes) -> Iterator[Refusal]:
    for name in changes.added:
        owners = [old for old, heirs in changes.heirs.items() if name in heirs]
        if len(owners) > 1:
            listed = " and ".join(owner for owner in owners if owner != name)
            yield Refusal(
                Reason.TAKEN,
                f"{name} takes over addresses, MACs or VMIDs of {listed}",
                f"remove {listed} first, {THEN}",
                (name,),
            )


def _etcd(changes: Changes, world: World) -> Iterator[Refusal]:
    acting = _acting(changes, world)
    if not acting:
        return
    healthy = world.members - world.sick
    if len(healthy) <= len(world.members) // 2:
        what = f"etcd has no majority: not healthy: {_listed(world.sick)}"
        yield Refusal(Reason.LOST, what, "talops recover", tuple(sorted(acting)))
        return
    # What waits for the removal of a healthy member repairs nothing before it.
    late = {h for n, heirs in changes.heirs.items() if n not in world.sick for h in heirs}
    unfixed = world.sick - (acting - late) - ghosts(changes, world)
    others = sorted(acting - world.sick)
    if unfixed and others:
        yield Refusal(
            Reason.SICK,
            f"etcd is not healthy: {_listed(unfixed)}; changing {_listed(others)} could cost it "
            "its majority",
            "repair etcd first: talops talos etcd status",
            tuple(others),
        )
        return
    yield from _counted(changes, world)


def _counted(changes: Changes, world: World) -> Iterator[Refusal]:
    """What the number of members does not allow."""
    lost = ghosts(changes, world) | (world.sick & set(changes.removed))
    new = [n for n in changes.added if changes.new[n].controller and not _inherits(changes, n)]
    most = len((world.members - lost) | set(new))
    removals = [name for name in plain_removals(changes) if name not in lost]
    if len(removals) > 1 and most - len(removals) <= most // 2:
        yield _removals(removals)


def _removals(removals: Sequence[str]) -> Refusal:
    order = ", then ".join(removals)
    return Refusal(
        Reason.REMOVALS,
        f"{_listed(removals)} would leave etcd in one run, and too few members would remain",
        f"remove one, run talops up, then the next: {order}",
        tuple(removals[1:]),
    )


def _acting(changes: Changes, world: World) -> frozenset[str]:
    """Control planes that stop, leave or join."""
    kept = {
        name
        for cost in (Cost.RESTART, Cost.REPLACE)
        for name in changes.of_cost(cost, controller=True)
    }
    removed = {name for name in changes.removed if changes.old[name].controller}
    added = {name for name in changes.added if changes.new[name].controller}
    return frozenset(kept | removed | added | ghosts(changes, world))


def ghosts(changes: Changes, world: World) -> frozenset[str]:
    """Members without a machine, which do not come back as control planes."""
    planes = {name for name, machine in changes.new.items() if machine.controller}
    return world.members - set(changes.old) - planes


def plain_removals(changes: Changes) -> list[str]:
    """Control planes that go, and no other node takes their place."""
    return [n for n in changes.removed if changes.old[n].controller and n not in changes.heirs]


def _inherits(changes: Changes, name: str) -> bool:
    return any(name in heirs for heirs in changes.heirs.values())


def _listed(names: Sequence[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _word(key: str) -> str:
    return {"mac": "MAC", "vm_id": "VMID"}.get(key, key)

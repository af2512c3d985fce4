"""What `up` refuses for nodes: unsafe orders, and changes that only another command makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.nodeplan.machine import Cost
from talops.nodeplan.order import plan_nodes
from talops.nodeplan.sorting import sort
from talops.nodeplan.steps import Reason, Refusal, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from talops.nodeplan.machine import Machine
    from talops.nodeplan.sorting import Changes

NOTHING = World()
# A roll waits for etcd to be healthy; until then, these are reasons to refuse removals only.
OF_REMOVALS = frozenset({Reason.SICK, Reason.LOST})
OF_IDENTITIES = frozenset({Reason.TAKEN, Reason.RENAMED})


def refused_identities(before: Iterable[Machine], after: Iterable[Machine]) -> tuple[Refusal, ...]:
    """A node gets an address, MAC or VMID that another one still has, or its name."""
    found = refused_in_place(before, after)
    return tuple(refusal for refusal in found if refusal.reason in OF_IDENTITIES)


def refused_now(
    before: Iterable[Machine], after: Iterable[Machine], world: World, *, removing: bool
) -> tuple[Refusal, ...]:
    """While nothing is removed, a roll waits for an etcd that is not healthy."""
    found = refused_in_place(before, after, world)
    return tuple(refusal for refusal in found if removing or refusal.reason not in OF_REMOVALS)


def refused_in_place(
    before: Iterable[Machine], after: Iterable[Machine], world: World = NOTHING
) -> tuple[Refusal, ...]:
    """Each with the safe way; empty if `up` can make these changes."""
    old, new = tuple(before), tuple(after)
    if unsafe := plan_nodes(old, new, world).refusals:
        return unsafe
    changes = sort(old, new, {})
    return (*_other_roles(changes), *_renamed(changes), *_replaced(changes))


def _other_roles(changes: Changes) -> Iterator[Refusal]:
    for name in changes.removed:
        if name in changes.new:
            yield Refusal(
                Reason.ROLE,
                f"{name} is a {_role(changes.old[name])}, and the inventory makes it a "
                f"{_role(changes.new[name])}",
                f"talops replace {name}",
                (name,),
            )


def _renamed(changes: Changes) -> Iterator[Refusal]:
    for name, heirs in changes.heirs.items():
        others = [heir for heir in heirs if heir != name]
        if name in changes.new or not others:
            continue
        shared = changes.old[name].identity & changes.new[others[0]].identity
        values = ", ".join(f"{_word(key)} {value}" for key, value in sorted(shared))
        yield Refusal(
            Reason.RENAMED,
            f"{others[0]} has the {values} of {name}, which is still a node: a node cannot be "
            "renamed",
            f"leave {others[0]} out of nodes.yaml and remove {name} first "
            f"(talops up --allow-destroy {name}), then add {others[0]}; or keep the name {name}",
            (name, *others),
        )


def _replaced(changes: Changes) -> Iterator[Refusal]:
    for name, cost in changes.costs.items():
        if cost is Cost.REPLACE:
            yield Refusal(
                Reason.REPLACED,
                f"{name} cannot change in place: {', '.join(changes.why[name])}",
                f"talops replace {name}",
                (name,),
            )


def _role(machine: Machine) -> str:
    return "control plane" if machine.controller else "worker"


def _word(key: str) -> str:
    return {"mac": "MAC", "vm_id": "VMID"}.get(key, key)

"""What happens to each node: kept, added, removed, renamed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.nodeplan.machine import Cost, differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.nodeplan.machine import Machine


@dataclass(frozen=True)
class Changes:
    """`costs` and `why`: of nodes that keep name and role. `heirs`: removed node → new nodes that
    take over its address, MAC or VMID, as a renamed node does. A node that changes its role is both
    removed and added.
    """

    old: Mapping[str, Machine]
    new: Mapping[str, Machine]
    costs: Mapping[str, Cost]
    why: Mapping[str, tuple[str, ...]]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    heirs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of_cost(self, cost: Cost, *, controller: bool) -> list[str]:
        found = [name for name, own in self.costs.items() if own is cost]
        return [name for name in found if self.new[name].controller is controller]

    @property
    def touched(self) -> frozenset[str]:
        """Everything that differs."""
        changed = {name for name, cost in self.costs.items() if cost is not Cost.NOTHING}
        return frozenset({*changed, *self.added, *self.removed})


def sort(before: Iterable[Machine], after: Iterable[Machine], costs: Mapping[str, Cost]) -> Changes:
    """`costs` raises what a node pays: OpenTofu may know more than the inventory."""
    old, new = {m.name: m for m in before}, {m.name: m for m in after}
    flipped = [n for n in new if n in old and old[n].controller is not new[n].controller]
    kept = [name for name in new if name in old and name not in flipped]
    added = tuple(name for name in new if name not in old or name in flipped)
    removed = tuple(name for name in old if name not in new or name in flipped)
    found = {name: differences(old[name], new[name]) for name in kept}
    return Changes(
        old,
        new,
        {n: max([costs.get(n, Cost.NOTHING), *(d.cost for d in found[n])]) for n in kept},
        {n: tuple(str(d) for d in found[n]) for n in kept},
        added,
        removed,
        _heirs(old, new, added, removed),
    )


def _heirs(
    old: Mapping[str, Machine],
    new: Mapping[str, Machine],
    added: Iterable[str],
    removed: Iterable[str],
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    listed = list(added)
    for name in removed:
        gone = name not in new
        heirs = [n for n in listed if n == name or (gone and new[n].identity & old[name].identity)]
        if heirs:
            found[name] = tuple(heirs)
    return found

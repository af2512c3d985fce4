"""The order of all changes to the nodes of a cluster.

What repairs etcd comes first, then what makes it larger, then what takes one member away for a
while, then what removes one permanently. Control planes change one by one; each step ends with a
healthy etcd. Workers come after them: new ones first, so that pods have a place to go to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.nodeplan.machine import Cost
from talops.nodeplan.refusing import (
    ghosts,
    one_of_two,
    only,
    plain_removals,
    refusals,
    with_first_run,
)
from talops.nodeplan.sorting import sort
from talops.nodeplan.steps import Action, NodePlan, Refusal, Step, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.nodeplan.machine import Machine
    from talops.nodeplan.sorting import Changes

PAIR = 2
NOTHING: Mapping[str, Cost] = {}


def plan_nodes(
    before: Iterable[Machine],
    after: Iterable[Machine],
    world: World | None = None,
    costs: Mapping[str, Cost] = NOTHING,
) -> NodePlan:
    """`costs` raises what a kept node pays for reasons that the inventory does not show."""
    world = world or World()
    changes = sort(before, after, costs)
    refused = refusals(changes, world)
    if refused:
        return NodePlan(refusals=tuple(refused))
    ordering = _Ordering(changes, world)
    ordering.control_planes()
    ordering.workers()
    if ordering.refused:
        return NodePlan(refusals=tuple(with_first_run(ordering.refused, changes)))
    return NodePlan(tuple(ordering.steps))


class _Ordering:
    def __init__(self, changes: Changes, world: World) -> None:
        self._changes = changes
        self._world = world
        self._members = set(world.members)
        self._drains = len({*changes.old, *changes.new}) > 1
        self.steps: list[Step] = []
        self.refused: list[Refusal] = []
        self._done: set[str] = set()

    def control_planes(self) -> None:
        changes = self._changes
        planes = [n for n in changes.added if changes.new[n].controller]
        if not self._world.members:
            self._first(planes)
            return
        self._repair(planes)
        for name in planes:
            if not self._inherits(name):
                self._add(name)
        for cost, action in ((Cost.RESTART, self._restart), (Cost.REPLACE, self._replace)):
            for name in changes.of_cost(cost, controller=True):
                action(name)
        self._rename([n for n in changes.removed if changes.old[n].controller])
        for name in plain_removals(changes):
            self._remove(name)

    def workers(self) -> None:
        changes = self._changes
        added = [n for n in changes.added if not changes.new[n].controller]
        self._workers(Action.ADD, [n for n in added if not self._inherits(n)], drains=False)
        online = [n for n, cost in changes.costs.items() if cost is Cost.ONLINE]
        self._workers(Action.ONLINE, online, drains=False)
        self._workers(Action.RESTART, changes.of_cost(Cost.RESTART, controller=False))
        self._workers(Action.REPLACE, changes.of_cost(Cost.REPLACE, controller=False))
        removed = [n for n in changes.removed if not changes.old[n].controller]
        self._workers(Action.REMOVE, removed)
        # A control plane that takes over from a worker waits for its removal.
        for heir in [h for n in removed for h in changes.heirs.get(n, ())]:
            if changes.new[heir].controller and self._world.members:
                self._add(heir)
        self._workers(Action.ADD, [n for n in added if self._inherits(n)], drains=False)

    def _first(self, planes: list[str]) -> None:
        """Nothing is bootstrapped yet: there is no majority to keep."""
        changes = self._changes
        for action, names in (
            (Action.REMOVE, [n for n in changes.removed if changes.old[n].controller]),
            (Action.REPLACE, changes.of_cost(Cost.REPLACE, controller=True)),
            (Action.RESTART, changes.of_cost(Cost.RESTART, controller=True)),
            (Action.ADD, planes),
        ):
            if names:
                self.steps.append(Step(action, tuple(names), controller=True, why=self._why(names)))

    def _repair(self, planes: list[str]) -> None:
        """Members without a machine, and members that are not healthy."""
        changes, sick = self._changes, self._world.sick
        gone = [n for n in changes.removed if n in sick]
        for name in sorted(ghosts(changes, self._world)):
            self._remove(name)
        for name in [n for n in gone if n not in changes.heirs]:
            self._remove(name)
        for name in [n for n in planes if n in self._world.members and not self._inherits(n)]:
            self._add(name)
        for cost, action in ((Cost.RESTART, self._restart), (Cost.REPLACE, self._replace)):
            for name in changes.of_cost(cost, controller=True):
                if name in sick:
                    action(name)
        self._rename(gone)

    def _rename(self, planes: list[str]) -> None:
        """What has the address of another node can only join after that one was removed."""
        for name in planes:
            if heirs := self._changes.heirs.get(name, ()):
                self._remove(name)
                for heir in [h for h in heirs if self._changes.new[h].controller]:
                    self._add(heir)

    def _add(self, name: str) -> None:
        if name in self._done:
            return
        before = len(self._members)
        # A member of this name has lost its machine: Talos removes it before the new one joins.
        stale = name in self._members
        self._members.add(name)
        counts = (before, before - 1, before) if stale else (before, before + 1)
        self._plane(Action.ADD, name, counts, drains=False)
        self._done.add(name)

    def _restart(self, name: str) -> None:
        if len(self._members) == PAIR and name not in self._world.sick:
            self.refused.append(one_of_two(name))
        count = len(self._members)
        self._plane(Action.RESTART, name, (count, count - 1, count))

    def _replace(self, name: str) -> None:
        self._require_another(name)
        count = len(self._members)
        self._plane(Action.REPLACE, name, (count, count - 1, count))

    def _remove(self, name: str) -> None:
        if f"-{name}" in self._done:
            return
        self._require_another(name)
        count = len(self._members)
        self._members.discard(name)
        self._plane(Action.REMOVE, name, (count, len(self._members)))
        self._done.add(f"-{name}")

    def _require_another(self, name: str) -> None:
        if self._members == {name}:
            self.refused.append(only(name, self._changes.heirs.get(name, ())))

    def _plane(
        self, action: Action, name: str, members: tuple[int, ...], *, drains: bool = True
    ) -> None:
        key = (action, name)
        if any((step.action, *step.names) == key for step in self.steps if step.controller):
            return
        self.steps.append(
            Step(
                action,
                (name,),
                controller=True,
                why=self._why([name]),
                members=members,
                drains=drains and self._drains,
            )
        )

    def _workers(self, action: Action, names: Iterable[str], *, drains: bool = True) -> None:
        listed = tuple(names)
        if listed:
            self.steps.append(
                Step(
                    action,
                    listed,
                    controller=False,
                    why=self._why(listed),
                    drains=drains and self._drains,
                )
            )

    def _why(self, names: Iterable[str]) -> tuple[str, ...]:
        found = [self._changes.why.get(name, ()) for name in names]
        return tuple(f"{n}: {', '.join(w)}" for n, w in zip(names, found, strict=True) if w)

    def _inherits(self, name: str) -> bool:
        return any(name in heirs for heirs in self._changes.heirs.values())

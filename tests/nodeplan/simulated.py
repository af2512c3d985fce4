"""An etcd of few words: which members it has, which are up, and whether they are a majority.

It knows nothing of the planner. What counts as a member and as a majority is etcd's own rule (raft:
more than half of the voting members); a replaced or removed member leaves before its machine goes,
and a new one votes from the moment that its step ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.nodeplan.machine import Machine, machine_of
from talops.nodeplan.steps import Action

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.nodeplan.steps import NodePlan, Step, World

__all__ = ["Simulation", "machine_of"]


class UnsafeError(Exception):
    """A state that no expert would pass through."""


@dataclass
class Simulation:
    """`nodes` is what exists, by name; `stale` are members without a machine."""

    nodes: dict[str, Machine]
    members: set[str]
    down: set[str] = field(default_factory=set)
    # No more than were down before the first step, and never two because of a step.
    tolerated: int = 1

    @classmethod
    def of(cls, before: Iterable[Machine], world: World) -> Simulation:
        tolerated = max(1, len(world.sick))
        return cls({m.name: m for m in before}, set(world.members), set(world.sick), tolerated)

    def run(self, plan: NodePlan, after: Iterable[Machine]) -> None:
        wanted = {machine.name: machine for machine in after}
        founded = bool(self.members)
        for step in plan.steps:
            if step.controller and founded:
                assert len(step.names) == 1, "control planes go one by one"
            for name in step.names:
                self._node(step, name, wanted.get(name), founded=founded)
        self._exactly(wanted)

    def _node(self, step: Step, name: str, wanted: Machine | None, *, founded: bool) -> None:
        if step.controller and founded:
            self._member(step.action, name)
        if step.action is Action.REMOVE:
            self.nodes.pop(name, None)
            return
        assert wanted is not None, f"{name} is not wanted"
        others = [m for n, m in self.nodes.items() if n != name]
        taken = wanted.identity & {value for other in others for value in other.identity}
        if taken:
            raise UnsafeError(f"{name} uses {taken}, which another node has")
        self.nodes[name] = wanted

    def _member(self, action: Action, name: str) -> None:
        if action is Action.RESTART:
            self._away(name)
        elif action is Action.REMOVE:
            self._leave(name)
        elif action is Action.REPLACE:
            self._leave(name)
            self._join(name)
        elif action is Action.ADD:
            if name in self.members:  # its machine is lost: the member goes first
                self._leave(name)
            self._join(name)
        self.down.discard(name)
        self._majority()

    def _away(self, name: str) -> None:
        self.down.add(name)
        if len(self.down & self.members) > self.tolerated:
            raise UnsafeError(f"{sorted(self.down)} are down")
        # While its only member restarts, an etcd of one has no majority, whatever the order is.
        if len(self.members) > 1:
            self._majority()

    def _leave(self, name: str) -> None:
        self._majority()
        if self.members == {name}:
            raise UnsafeError(f"{name} was the only member: the data is lost")
        self.members.discard(name)
        self.down.discard(name)
        self._majority()

    def _join(self, name: str) -> None:
        self._majority()
        self.members.add(name)
        self._majority()

    def _majority(self) -> None:
        down = self.down & self.members
        if len(self.members) - len(down) <= len(self.members) // 2:
            raise UnsafeError(f"no majority: {sorted(down)} of {sorted(self.members)} are down")

    def _exactly(self, wanted: dict[str, Machine]) -> None:
        assert self.nodes == wanted
        if self.members:
            assert self.members == {n for n, m in wanted.items() if m.controller}

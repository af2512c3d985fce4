"""The roll: stop, change and return nodes without losing quorum or workloads.

gates → prepare → etcd healthy → cordon → drain → volumes detached → nodes and etcd once more →
leadership forfeited → etcd healthy still → act → back and ready → uncordon → gates. Control planes
go one at a time, workers as many at the same time as `max_unavailable` says. After a failure no
other node is touched.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.kube.conditions import condition
from talops.rolls.before import FirstLook
from talops.rolls.between import LastPass
from talops.rolls.gates import Absence, EtcdGate, FluxGate, Gates, NodesGate, PodsGate
from talops.rolls.kube_access import KubeAccess
from talops.rolls.marks import mark_of
from talops.rolls.meeting import LeftError, Meeting
from talops.rolls.options import DEFAULT
from talops.rolls.order import Candidate, groups
from talops.rolls.permission import refusal
from talops.rolls.steps import Steps
from talops.rolls.turn import Step
from talops.site.etcd_guard import look_at_etcd

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.rolls.gates import Gate
    from talops.rolls.options import RollOptions
    from talops.rolls.turn import Turn
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


class Roller:
    """One roll of a run; stages that share it never stop more nodes than it allows."""

    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        options: RollOptions = DEFAULT,
        gates: Sequence[Gate] = (),
    ) -> None:
        self._site = site
        self._secrets = secrets
        self.options = options
        self._own_gates = gates
        self.kube = KubeAccess(site, secrets)
        self._gates: Gates | None = None
        self._failed = ""
        self._away: set[str] = set()
        self._sick: frozenset[str] = frozenset()
        self._planes = asyncio.Lock()
        self._before = FirstLook(site, secrets, self.kube)
        self._passed = LastPass()
        self._workers = asyncio.Semaphore(self.width)

    @property
    def width(self) -> int:
        return self.options.max_unavailable.of(len(self._site.cluster.workers))

    async def candidates(self, nodes: Iterable[Node]) -> list[Candidate]:
        """What the order of these nodes depends on, as the world says now."""
        fleet = await self._secrets.fleet()
        seen = await self.kube.nodes()
        etcd = await look_at_etcd(fleet, self._site.cluster.control_planes)
        return [
            Candidate(
                node.name,
                node.controller,
                sick=node.name in etcd.sick
                or (node.name in seen and bool(condition(seen[node.name], "Ready"))),
                under_way=node.name in seen and mark_of(seen[node.name]) is not None,
                leader=etcd.leader == node.name,
            )
            for node in nodes
        ]

    async def left_by(self, stage: str) -> frozenset[str]:
        """Names of the Nodes that an interrupted roll of this stage took out of service."""
        nodes = await self.kube.nodes()
        marks = {name: mark_of(node) for name, node in nodes.items()}
        return frozenset(name for name, mark in marks.items() if mark and mark.stage == stage)

    async def roll(self, turns: Sequence[Turn], report: Reporter, *, canary: bool = False) -> None:
        """All of these nodes in the right order; stops after the first failure. `canary`: the first
        of many workers goes alone.
        """
        by_name = {turn.node.name: turn for turn in turns}
        found = await self.candidates(turn.node for turn in turns)
        self._sick = frozenset(c.name for c in found if c.sick)
        workers = len(self._site.cluster.workers)
        for group in groups(found, workers, self.options.max_unavailable, canary=canary):
            queue = [by_name[name] for name in group.names]
            await self._together(queue, group.width, report)

    async def turn(self, turn: Turn, report: Reporter) -> None:
        """One node, from the gates before it to the gates after it."""
        lock = self._planes if turn.node.controller else self._workers
        async with lock:
            self._check()
            await self._site.fence.check()
            if turn.act:
                await self._permit(turn.node.name)
            try:
                await self._steps(turn, report)
            except TalopsError as error:
                self._failed = self._failed or f"{turn.node.name}: {error.what}"
                raise

    async def pass_gates(self, report: Reporter, where: str = "") -> None:
        """For changes that restart parts of a node, but do not take it out of service."""
        self._check()
        self._passed.clear()
        await self._permit(report.stage)
        gates = await self._all_gates()
        try:
            await gates.pass_all(self._absence(), report.waiting)
        except TalopsError as error:
            error.where = error.where or where or None
            raise

    async def _permit(self, name: str) -> None:
        """A window may close, and someone may pause, between two nodes."""
        if refused := await refusal(self._site, self.options):
            self._failed = self._failed or f"{name}: {refused.what}"
            raise refused

    async def change(
        self, node: Node, act: Callable[[], Awaitable[None]], report: Reporter
    ) -> None:
        """A node that keeps serving: gates → act → gates. What was wrong before the first change
        of this run closes no gate: the change may be what repairs it.
        """
        async with self._planes if node.controller else self._workers:
            self._check()
            self._passed.clear()
            await self._site.fence.check()
            try:
                gates = await self._all_gates()
                before = await self._before.look(gates)
                await gates.pass_all(before.absence(self._away), report.waiting, before.closed)
                await act()
                await gates.pass_all(before.absence(self._away), report.waiting, before.closed)
            except TalopsError as error:
                self._failed = self._failed or f"{node.name}: {error.what}"
                raise

    async def together(
        self, turns: Sequence[Turn], act: Callable[[], Awaitable[None]], report: Reporter
    ) -> None:
        """Nodes that one `act` takes down: all of them are emptied before it, or it does not take
        place.
        """
        meeting = Meeting(len(turns), act)

        async def one(turn: Turn) -> None:
            try:
                await self.turn(replace(turn, act=meeting.arrive), report)
            except BaseException:
                meeting.leave()
                raise

        _raise_first(await asyncio.gather(*map(one, turns), return_exceptions=True))

    def expect_sick(self, names: Iterable[str]) -> None:
        """These were not healthy before the roll: until their turn, the gates excuse them."""
        self._sick |= frozenset(names)

    async def _together(self, queue: list[Turn], width: int, report: Reporter) -> None:
        async def work() -> None:
            while queue and not self._failed:
                await self.turn(queue.pop(0), report)

        _raise_first(await asyncio.gather(*(work() for _ in range(width)), return_exceptions=True))

    async def _steps(self, turn: Turn, report: Reporter) -> None:
        fleet = await self._secrets.fleet()
        steps = Steps(turn, self._site, fleet, self.kube, self.options, report)
        gates = await self._all_gates()
        async with self._taken(turn.node.name):
            async with steps.step(Step.GATES):
                if not self._passed.covers(self._absence()):
                    await gates.pass_all(self._absence(), steps.waiting)
                await steps.look()
            self._passed.clear()
            if steps.acts:
                await self._take_away(steps, gates)
                await self._act(steps)
            if not turn.leaves:
                await steps.come_back()
                await steps.release()
        self._sick -= {turn.node.name}
        async with steps.step(Step.AFTER):
            absence = self._absence()
            passing = gates.still if turn.recreated else gates.pass_all
            await passing(absence, steps.waiting)
        if not turn.recreated:
            self._passed.keep(absence)

    async def _act(self, steps: Steps) -> None:
        try:
            await steps.act()
        except LeftError as left:
            if not left.begun:
                await steps.release()
            self._check()
            raise

    async def _take_away(self, steps: Steps, gates: Gates) -> None:
        await steps.prepare()
        await steps.etcd()
        self._check()
        await steps.empty()
        async with steps.step(Step.GATES):
            await gates.still(self._absence(), steps.waiting)
        await steps.forfeit()
        await steps.etcd()
        if self._failed:
            await steps.release()
        self._check()

    def _absence(self) -> Absence:
        return Absence(frozenset(self._away), self._sick)

    @contextlib.asynccontextmanager
    async def _taken(self, name: str) -> AsyncIterator[None]:
        self._away.add(name)
        try:
            yield
        finally:
            self._away.discard(name)

    def _check(self) -> None:
        if self._failed:
            raise RollStoppedError(
                f"the roll has stopped; first failure: {self._failed}", hint="talops up"
            )

    async def _all_gates(self) -> Gates:
        if self._gates is None:
            fleet, cluster = await self._secrets.fleet(), self._site.cluster
            allowed = self.options.allow_unhealthy_etcd
            self._gates = Gates(
                [
                    EtcdGate(fleet, cluster.control_planes, allowed),
                    NodesGate(self.kube, fleet, cluster.nodes),
                    PodsGate(self.kube),
                    FluxGate(self.kube),
                    *self._own_gates,
                ],
                self._site.limits.kubernetes,
                self._site.limits.interval,
            )
        return self._gates


class RollStoppedError(ConflictError):
    """Another node of the same roll has failed."""


def _raise_first(outcomes: Iterable[BaseException | None]) -> None:
    """The cause, rather than what stopped because of it."""
    failures = [outcome for outcome in outcomes if outcome is not None]
    failures.sort(key=lambda failure: isinstance(failure, RollStoppedError))
    if failures:
        raise failures[0]

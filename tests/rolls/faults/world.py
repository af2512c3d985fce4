"""A cluster in which something breaks at a chosen moment of a roll, and what must hold then."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.lab.talos.harness import until
from tests.rolls.faults.changes import FIRST_PATCH, UPGRADE
from tests.upgrades.conftest import PATIENT, Upgrading

from talops.errors import TalopsError
from talops.events import PartProgress
from talops.kube.conditions import condition
from talops.kube.objects import Ref
from talops.lab.talos.machine.faults import Faults
from talops.pipeline.result import RunStatus
from talops.rolls.marks import is_cordoned, mark_of
from talops.rolls.options import RollOptions
from talops.rolls.steps import Steps
from talops.upgrades.kubernetes.raising import Raising

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest
    from tests.rolls.conftest import Rolling
    from tests.rolls.faults.changes import Kind

    from talops.machineconfig.kubernetes_images import Component
    from talops.pipeline.result import RunResult
    from talops.rolls.turn import Step
    from talops.site.site import Limits
    from talops.upgrades.kubernetes.running import NodeRunning

# The world and the first node of the roll.
Strike = Callable[["World", str], Awaitable[None]]
BUDGET = Ref("policy/v1", "PodDisruptionBudget", "held", "default")


@dataclass(frozen=True)
class Case:
    """`strike` happens before step `at` of the first node; without `at`, before the roll.

    The roll stops in the step `stops` of the first node; empty: before it has touched one. `says`:
    in the reason. `hint`: in the next command. `cordoned`: the first node is left out of service.
    `restarted`: it has begun another boot.
    """

    name: str
    strike: Strike
    says: str
    stops: str = ""
    at: str = ""
    nodes: tuple[str, ...] = ("w-1", "w-2")
    hint: str = "talops up"
    limits: Limits = PATIENT
    cordoned: bool = False
    restarted: bool = False
    kind: Kind = UPGRADE
    # It needs several control planes.
    planes: bool = False


class World(Upgrading):
    """Faults come and go here; `first` is the node that the roll has reached."""

    def __init__(self, cluster: Rolling) -> None:
        super().__init__(cluster)
        self.first = ""
        # What the inventory says by now: extensions of nodes, release of Kubernetes, a value.
        self.given: dict[str, str] = {}
        self.patch = FIRST_PATCH
        self.value = 0

    @contextlib.asynccontextmanager
    async def striking(self, case: Case, patch: pytest.MonkeyPatch) -> AsyncIterator[None]:
        """The fault has its full effect before the step begins."""
        plain, raises = Steps.step, Raising.step
        self.first, happened = "", False

        async def reached(node: str, step: str) -> None:
            nonlocal happened
            self.first = self.first or node
            if (node, step) == (self.first, case.at) and not happened:
                happened = True
                await case.strike(self, self.first)

        @contextlib.asynccontextmanager
        async def step(steps: Steps, name: Step) -> AsyncIterator[None]:
            await reached(steps.node.name, name)
            async with plain(steps, name):
                yield

        @contextlib.asynccontextmanager
        async def raising(
            own: Raising, seen: NodeRunning, component: Component, version: str
        ) -> AsyncIterator[None]:
            await reached(seen.node.name, component)
            async with raises(own, seen, component, version):
                yield

        if not case.at:
            happened = True
            await case.strike(self, case.nodes[0])
        with patch.context() as patched:
            patched.setattr(Steps, "step", step)
            patched.setattr(Raising, "step", raising)
            yield
        assert happened, f"{case.name}: {case.at} was never reached"

    async def run(self, case: Case, limits: Limits) -> RunResult:
        options = RollOptions(drain_timeout=2.0 if limits is not PATIENT else 300.0)
        return await case.kind.run(self, limits, options)

    def touched(self) -> set[str]:
        return {e.part for e in self.cluster.events if isinstance(e, PartProgress)}

    def boots(self) -> dict[str, str]:
        """Of the machines that have power."""
        nodes = self.cluster.lab.lab.host.fabric.nodes()
        return {node.machine.name: node.boot_id for node in nodes}

    async def cordoned(self) -> set[str]:
        nodes = await self.cluster.kube_nodes()
        return {name for name, node in nodes.items() if is_cordoned(node)}

    async def cut_power(self, *names: str) -> None:
        lab = self.cluster.lab.lab
        for name in names:
            await lab.host.power_off(lab.machines[name].uuid, graceful=False)

    async def heal(self) -> None:
        """Every machine runs, without faults, and Kubernetes has noticed."""
        lab = self.cluster.lab.lab
        for name, machine in lab.machines.items():
            lab.host.faults.clear(name)
            await lab.host.power_on(machine)
        await lab.ready(*lab.machines)
        await until(self._all_ready)

    async def _all_ready(self) -> bool:
        try:
            async with self.cluster.kube() as kube:
                await kube.delete(BUDGET)
            nodes = await self.cluster.kube_nodes()
        except TalopsError:
            return False
        return not any(condition(node, "Ready") for node in nodes.values())

    def faulty(self, *names: str, **fields: Any) -> None:
        for name in names:
            self.fault(name, Faults(**fields))


async def stops_and_resumes(world: World, case: Case, patch: pytest.MonkeyPatch) -> None:
    """One fault: only the first node was touched, the error says all, the next run finishes."""
    case.kind.edit(world, case.nodes)
    before = world.boots()
    async with world.striking(case, patch):
        result = await world.run(case, case.limits)
    off = before.keys() - world.boots().keys()
    after = world.boots()
    changed = {name for name in after if after[name] != before[name]}
    told(case, world, result)
    assert changed == ({world.first} - off if case.restarted else set()), case.name
    if case.stops:
        assert world.touched() == {world.first}, case.name
    await world.heal()
    assert await world.cordoned() == ({world.first} if case.cordoned else set()), case.name
    done = await world.run(case, PATIENT)
    assert done.status is RunStatus.DONE, (case.name, done.error)
    await in_service(world, case, before)


def told(case: Case, world: World, result: RunResult) -> None:
    """Node, step, reason and next command."""
    assert result.status is RunStatus.FAILED, case.name
    error: TalopsError | None = result.error
    assert error is not None
    said = f"{case.name}: {error.what} | {error.where} | {error.hint}"
    assert re.search(case.says.replace("FIRST", world.first), error.what), said
    assert error.hint, said
    assert re.search(case.hint.replace("FIRST", world.first), error.hint), said
    if case.stops:
        assert re.match(f"{case.stops} {world.first}", str(error.where)), said


async def in_service(world: World, case: Case, before: dict[str, str]) -> None:
    nodes = await world.cluster.kube_nodes()
    assert not any(is_cordoned(n) or mark_of(n) for n in nodes.values()), case.name
    boots = world.boots() if case.kind.restarts else {}
    assert all(boots[name] != before[name] for name in boots.keys() & {*case.nodes}), case.name


def quick(**seconds: float) -> Limits:
    """What a fault makes longer is not waited for; everything else has time."""
    return replace(PATIENT, interval=0.2, **seconds)


async def struck(probe: Callable[[], bool]) -> None:
    """Until the lab has carried out a fault."""

    async def holds() -> bool:
        return probe()

    await until(holds)

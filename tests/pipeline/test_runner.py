"""The runner's decisions, with small stages over a world that is a set of words."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from talops.errors import (
    DeniedError,
    NotReadyError,
    PreflightError,
    TalopsError,
    UnreachableError,
)
from talops.events import Event, StageFinished, StagePlanned, StepStarted
from talops.pipeline.result import RunResult, RunStatus, StageStatus
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.selection import Selection
from talops.pipeline.stage import Absent, Batch, Change, Seen, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.interrupt import Interruption
    from talops.pipeline.planning import Plan

World = set[str]


@dataclass
class Fake(Stage[World, Change]):
    """Creates `goals` in the world; may need something first, be unreachable, or fail."""

    name: str
    world: World
    goals: tuple[str, ...]
    needs: tuple[str, str] | None = None  # what, and the stage that makes it
    answers_after: str | None = None
    fails_on: dict[str, Exception] = field(default_factory=dict)
    independent: bool = False
    running: int = 0
    widest: int = 0

    async def observe(self) -> World | Absent:
        if self.needs and self.needs[0] not in self.world:
            return Absent(self.needs[1], f"no {self.needs[0]} yet")
        if self.answers_after and self.answers_after not in self.world:
            raise UnreachableError("connection refused", where=self.name)
        return set(self.world)

    def plan(self, facts: World) -> list[Change]:
        return [Change("create", goal) for goal in self.goals if goal not in facts]

    async def apply(self, change: Change) -> None:
        self.running += 1
        self.widest = max(self.widest, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if change.target in self.fails_on:
            raise self.fails_on[change.target]
        self.world.add(change.target)

    async def verify(self, _: Seen[World, Change], /) -> None:
        missing = set(self.goals) - self.world
        if missing:
            raise NotReadyError(f"{missing} not there")


def three(world: World) -> list[Fake]:
    return [
        Fake("provision", world, ("vm1", "vm2")),
        Fake("bootstrap", world, ("etcd",), needs=("vm1", "provision")),
        Fake("addons", world, ("flux",), answers_after="etcd"),
    ]


async def go(
    stages: list[Fake], options: Options | None = None, interruption: Interruption | None = None
) -> tuple[RunResult, list[Event]]:
    events: list[Event] = []
    result = await run_stages(
        stages, emit=events.append, options=options, interruption=interruption
    )
    return result, events


def statuses(result: RunResult) -> list[str]:
    return [str(stage.status) for stage in result.stages]


EVERYTHING = {"vm1", "vm2", "etcd", "flux"}


@pytest.mark.parametrize(
    ("world", "options", "stages", "status", "code"),
    [
        (set(), Options(), ["changed"] * 3, RunStatus.DONE, 0),
        (EVERYTHING, Options(), ["unchanged"] * 3, RunStatus.UNCHANGED, 0),
        ({"vm1", "vm2"}, Options(), ["unchanged", "changed", "changed"], RunStatus.DONE, 0),
        (
            set(),
            Options(dry_run=True),
            ["would change", "unknown", "unknown"],
            RunStatus.DIFFERENCES,
            2,
        ),
        (EVERYTHING, Options(dry_run=True), ["unchanged"] * 3, RunStatus.UNCHANGED, 0),
        (
            set(),
            Options(selection=Selection(last="provision")),
            ["changed", "skipped", "skipped"],
            RunStatus.DONE,
            0,
        ),
        (
            {"vm1"},
            Options(selection=Selection(skip=("provision",))),
            ["skipped", "changed", "changed"],
            RunStatus.DONE,
            0,
        ),
        # Nothing made the VM and nothing will: an error before anything changes.
        (
            set(),
            Options(selection=Selection(only=("bootstrap",))),
            ["not reached"] * 3,
            RunStatus.FAILED,
            1,
        ),
        # No answer, and no earlier stage with work to bring it about: an error, never "empty".
        (
            {"vm1", "vm2"},
            Options(selection=Selection(only=("addons",))),
            ["not reached"] * 3,
            RunStatus.FAILED,
            1,
        ),
    ],
)
async def test_a_run_ends_as_the_world_demands(
    world: World, options: Options, stages: list[str], status: RunStatus, code: int
) -> None:
    """World and options in, status of every stage, of the run, and the exit code out."""
    before = set(world)
    result, _ = await go(three(world := set(world)), options)
    assert (statuses(result), result.status, result.exit_code) == (stages, status, code)
    if options.dry_run or result.status == RunStatus.FAILED:
        assert world == before


async def test_dry_run_names_the_stage_something_depends_on() -> None:
    """What cannot be planned yet says after which stage it can be, and why."""
    _, events = await go(three(set()), Options(dry_run=True))
    unknown = {e.stage: (e.depends_on, e.reason) for e in events if isinstance(e, StagePlanned)}
    assert unknown["bootstrap"] == ("provision", "no vm1 yet")
    assert unknown["addons"] == ("bootstrap", "addons: connection refused")


async def test_the_whole_plan_comes_before_the_first_change() -> None:
    """The confirmation sees every stage while the world is still untouched."""
    world: World = set()
    seen: list[tuple[list[str], World]] = []

    async def confirm(plan: Plan) -> bool:
        seen.append(([stage.outlook for stage in plan.stages], set(world)))
        return False

    result, _ = await go(three(world), Options(confirm=confirm))
    assert seen == [(["changes", "unknown", "unknown"], set())]
    assert (result.status, result.exit_code, world) == (RunStatus.DECLINED, 1, set())


async def test_nothing_to_do_observes_once_without_a_question() -> None:
    """An unchanged run needs no confirmation and observes each stage a single time."""

    async def confirm(plan: Plan) -> bool:
        raise AssertionError

    result, events = await go(three(set(EVERYTHING)), Options(confirm=confirm))
    looks = [e for e in events if isinstance(e, StepStarted) and e.step == "observe"]
    assert (result.status, len(looks)) == (RunStatus.UNCHANGED, 3)


@pytest.mark.parametrize(
    ("error", "code"),
    [(DeniedError("no"), 1), (PreflightError("tool missing"), 4), (UnreachableError("down"), 1)],
)
async def test_a_failed_change_stops_the_run(error: TalopsError, code: int) -> None:
    """The stage fails with what it did so far; later ones are not reached; the error is kept."""
    world: World = set()
    stages = three(world)
    stages[0].fails_on = {"vm2": error}
    result, events = await go(stages)
    assert statuses(result) == ["failed", "not reached", "not reached"]
    assert result.stages[0].changes == ("create vm1",)
    assert (result.error, result.exit_code) == (error, code)
    assert isinstance(events[-1], StageFinished)


async def test_a_failed_change_starts_no_further_one() -> None:
    """Changes in order stop at the first that fails; running again does the rest."""
    world: World = set()
    stage = Fake("provision", world, ("a", "b", "c"), fails_on={"b": DeniedError("no")})
    await go([stage])
    assert world == {"a"}
    stage.fails_on = {}
    result, _ = await go([stage])
    assert result.stages[0].changes == ("create b", "create c")


async def test_independent_changes_run_in_parallel() -> None:
    """Up to max_parallel at once, and the one that fails does not tear its neighbours."""
    world: World = set()
    goals = tuple("abcdef")
    stage = Fake("apply", world, goals, independent=True, fails_on={"b": DeniedError("no")})
    result, _ = await go([stage], Options(max_parallel=3))
    assert stage.widest == 3
    assert {"a", "c"} <= world
    assert result.status == RunStatus.FAILED


class Batched(Fake):
    """One change alone, then all others together."""

    def batches(self, changes: Sequence[Change], at_most: int) -> list[Batch]:
        return [Batch((changes[0],)), Batch(tuple(changes[1:]), at_most)]


async def test_batches_wait_for_each_other() -> None:
    """The first one is finished before the others begin, and its failure keeps them from it."""
    world: World = set()
    stage = Batched("roll", world, tuple("abcd"))
    result, _ = await go([stage], Options(max_parallel=2))
    assert stage.widest == 2
    assert result.stages[0].changes[0] == "create a"
    failing = Batched("roll", set(), tuple("abcd"), fails_on={"a": DeniedError("no")})
    result, _ = await go([failing], Options(max_parallel=3))
    assert result.status == RunStatus.FAILED
    assert failing.world == set()
    assert failing.widest == 1


async def test_a_bug_is_no_result() -> None:
    """Something else than a TalopsError passes through, with its stage marked as failed."""
    events: list[Event] = []
    stage = Fake("provision", set(), ("vm",), fails_on={"vm": ZeroDivisionError()})
    with pytest.raises(ZeroDivisionError):
        await run_stages([stage], emit=events.append)
    assert isinstance(events[-1], StageFinished)
    assert events[-1].status == StageStatus.FAILED


async def test_absent_after_its_source_ran_is_an_error() -> None:
    """A stage that claims success without leaving what the next one needs is found out."""
    world: World = set()
    stages = [Fake("a", world, ("x",)), Fake("b", world, ("y",), needs=("z", "a"))]
    result, _ = await go(stages)
    assert statuses(result) == ["changed", "failed"]
    assert "depends on a, which has run without the expected result: no z yet" in str(result.error)


@dataclass
class Looker(Fake):
    """Its `verify` would only observe again."""

    proven_by_look: bool = True
    verified: int = 0

    async def verify(self, _: Seen[World, Change], /) -> None:
        self.verified += 1
        await super().verify(_)


@pytest.mark.parametrize(
    ("world", "before", "steps"),
    [
        # As it should be, and nothing was done: seen is proven.
        ({"file"}, (), ["observe"]),
        (set(), (), ["observe", "apply", "verify"]),
        # Something else was changed: it is looked at once more, not twice.
        ({"file"}, ("vm1",), ["observe", "observe"]),
    ],
)
async def test_an_observation_proves_what_was_not_changed(
    world: World, before: tuple[str, ...], steps: list[str]
) -> None:
    """Only what was applied has to be looked at again, where looking is all the proof there is."""
    looker = Looker("configure", world, ("file",))
    result, events = await go([Fake("provision", world, before), looker])
    assert result.exit_code == 0
    found = [e.step for e in events if isinstance(e, StepStarted) and e.stage == "configure"]
    assert found == steps
    assert looker.verified == steps.count("verify")


@dataclass
class Careful(Fake):
    """Keeps what the runner hands to `verify` and `conclude`."""

    handed: list[Seen[World, Change]] = field(default_factory=list)
    breaks: bool = False

    async def verify(self, seen: Seen[World, Change], /) -> None:
        self.handed.append(seen)
        if self.breaks:
            raise NotReadyError("not proven")

    async def conclude(self, seen: Seen[World, Change], /) -> None:
        self.handed.append(seen)


async def test_verify_gets_the_last_facts() -> None:
    """Those that the applied changes follow from, looked at after what earlier stages did."""
    world: World = {"a"}
    stage = Careful("addons", world, ("a", "b"))
    await go([Fake("provision", world, ("vm",)), stage])
    assert stage.handed == [Seen({"a", "vm"}, (Change("create", "b"),))] * 2


async def test_only_what_is_proven_is_concluded() -> None:
    """A record of something that did not come true would mislead later runs."""
    stage = Careful("bootstrap", {"etcd"}, ("etcd",), breaks=True)
    result, _ = await go([stage])
    assert (statuses(result), len(stage.handed)) == (["failed"], 1)

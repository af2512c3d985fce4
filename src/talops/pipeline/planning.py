"""The plan of all stages, made before anything changes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.approval import shown
from talops.errors import NotReadyError, TalopsError, UnreachableError
from talops.events import (
    Emit,
    PlanFinished,
    PlannedChange,
    StagePlanned,
    StepStarted,
)
from talops.pipeline.stage import Absent, AnyStage, Change, Reporter
from talops.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PAUSE = 0.5
# How long other stages wait for a stage that must begin before them.
_HEAD_START = 2.0


@dataclass(frozen=True)
class Unknown:
    """Unknown until the stage `depends_on` has run."""

    depends_on: str
    reason: str


@dataclass(frozen=True)
class StagePlan:
    """What one stage would do: its changes, or why they are unknown, or why it does not run."""

    stage: AnyStage
    changes: tuple[Change, ...] = ()
    unknown: Unknown | None = None
    left_out: str = ""
    seconds: float = 0.0
    # What `changes` follow from.
    facts: Any = None

    @property
    def outlook(self) -> str:
        if self.left_out:
            return "skipped"
        if self.unknown:
            return "unknown"
        return "changes" if self.changes else "unchanged"

    @property
    def pending(self) -> bool:
        return bool(self.changes or self.unknown)

    @property
    def refusals(self) -> tuple[TalopsError, ...]:
        """Why changes must not be applied as they are."""
        return tuple(found for change in self.changes if (found := change.refusal()))


@dataclass(frozen=True)
class Plan:
    stages: tuple[StagePlan, ...]

    @property
    def pending(self) -> bool:
        return any(plan.pending for plan in self.stages)

    @property
    def changes(self) -> int:
        return sum(len(plan.changes) for plan in self.stages)

    @property
    def objects(self) -> int:
        """How many objects change; a change of unknown objects counts as one."""
        every = [change for plan in self.stages for change in plan.changes]
        return sum(len(change.items() or (None,)) for change in every)


async def make_plan(
    stages: Sequence[AnyStage], left_out: Mapping[str, str], emit: Emit, *, patient: bool = False
) -> Plan:
    """Observe all stages in parallel, then plan them in order.

    A stage with `patience` (seconds) is observed again for that long if there is no answer and no
    earlier stage has pending changes: a node may be rebooting. Only if `patient`.

    A stage with `under_way` begins before the others: it runs external programs, which take
    longest.
    """
    plans: list[StagePlan] = []
    selected = [stage for stage in stages if stage.name not in left_out]
    selected.sort(key=lambda stage: stage.under_way is None)
    tasks: dict[str, asyncio.Future[tuple[object, float]]] = {}
    try:
        for stage in selected:
            tasks[stage.name] = asyncio.ensure_future(_look(stage, emit))
            await _until_under_way(stage, tasks[stage.name])
        for stage in stages:
            if stage.name in left_out:
                plan = StagePlan(stage, left_out=left_out[stage.name])
            else:
                seen, seconds = await tasks[stage.name]
                if patient and not any(p.pending for p in plans):
                    seen = await _patiently(stage, seen, emit)
                plan = judge(stage, seen, seconds, before=plans)
            plans.append(plan)
            announce(plan, emit)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    whole = Plan(tuple(plans))
    emit(PlanFinished(whole.changes, sum(1 for p in plans if p.unknown)))
    return whole


async def _until_under_way(stage: AnyStage, look: asyncio.Future[tuple[object, float]]) -> None:
    if stage.under_way is None:
        return
    heard = asyncio.ensure_future(stage.under_way.wait())
    either: set[asyncio.Future[Any]] = {look, heard}
    try:
        await asyncio.wait(either, timeout=_HEAD_START, return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()


async def look_again(stage: AnyStage, emit: Emit) -> StagePlan:
    """Plan one stage again right before it is applied; by now everything must be known."""
    emit(StepStarted(stage.name, "observe"))
    started = time.monotonic()
    seen = await stage.observe()
    if isinstance(seen, Absent):
        raise NotReadyError(
            f"{stage.name} depends on {seen.depends_on}, which has run without the expected result:"
            f" {seen.reason}",
            hint=f"check the log of {seen.depends_on}: talops runs log",
        )
    changes = tuple(stage.plan(seen))
    return StagePlan(stage, changes, seconds=time.monotonic() - started, facts=seen)


async def _look(stage: AnyStage, emit: Emit) -> tuple[object, float]:
    emit(StepStarted(stage.name, "observe"))
    started = time.monotonic()
    seen = await _seen(stage)
    return seen, time.monotonic() - started


async def _seen(stage: AnyStage) -> object:
    """The facts of the stage; a missing answer is a fact, too."""
    try:
        return await stage.observe()
    except (UnreachableError, NotReadyError) as error:
        return error


async def _patiently(stage: AnyStage, seen: object, emit: Emit) -> object:
    report, started = Reporter(stage.name, emit), time.monotonic()
    while isinstance(seen, UnreachableError):
        waited = time.monotonic() - started
        if waited + _PAUSE > stage.patience:
            break
        report.waiting(Waiting("an answer", str(seen), waited))
        await asyncio.sleep(_PAUSE)
        seen = await _seen(stage)
    return seen


def judge(
    stage: AnyStage, seen: object, seconds: float, *, before: Sequence[StagePlan]
) -> StagePlan:
    """The plan of a stage, given its facts and the plans of the stages before it.

    No answer means "unknown" only if an earlier stage has pending changes that may lead to an
    answer; otherwise it is an error. It never means "does not exist".
    """
    if isinstance(seen, Absent):
        _check_source(stage, seen, before)
        return StagePlan(stage, unknown=Unknown(seen.depends_on, seen.reason), seconds=seconds)
    if isinstance(seen, TalopsError):
        cause = next((p.stage.name for p in reversed(before) if p.pending), None)
        if cause is None:
            seen.what = f"{stage.name} cannot start: {seen.what}"
            raise seen
        return StagePlan(stage, unknown=Unknown(cause, str(seen)), seconds=seconds)
    return StagePlan(stage, tuple(stage.plan(seen)), seconds=seconds, facts=seen)


def _check_source(stage: AnyStage, absent: Absent, before: Sequence[StagePlan]) -> None:
    if any(p.stage.name == absent.depends_on and not p.left_out for p in before):
        return
    raise NotReadyError(
        f"{stage.name} depends on {absent.depends_on}, which has not run: {absent.reason}",
        hint=f"run {absent.depends_on} first, or start from it with --from {absent.depends_on}",
    )


def planned(stage: str, change: Change) -> PlannedChange:
    items = tuple(shown(item) for item in change.items() or ())
    refused = change.refusal()
    return PlannedChange(
        stage,
        change.action,
        change.target,
        change.detail,
        change.node,
        str(change.worst),
        items,
        refused.as_dict() if refused else None,
    )


def announce(plan: StagePlan, emit: Emit) -> None:
    name = plan.stage.name
    for change in plan.changes:
        emit(planned(name, change))
    depends_on = plan.unknown.depends_on if plan.unknown else None
    reason = plan.unknown.reason if plan.unknown else plan.left_out
    emit(StagePlanned(name, plan.outlook, len(plan.changes), depends_on, reason))

"""Run the stages of a workflow: plan all of them, then apply and verify one after the other."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.errors import InterruptedRunError, TalopsError
from talops.events import (
    ChangeFinished,
    ChangeStarted,
    Emit,
    Note,
    StageFinished,
    StageStarted,
    StepStarted,
)
from talops.pipeline.approving import Approval, Approvals, Keep, NewPlan, Reconfirm, approve
from talops.pipeline.interrupt import Interruption
from talops.pipeline.planning import Plan, StagePlan, look_again, make_plan
from talops.pipeline.result import RunResult, RunStatus, StageResult, StageStatus
from talops.pipeline.selection import ALL, Selection, select
from talops.pipeline.stage import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import AnyStage, Batch, Change

Confirm = Callable[[Plan], Awaitable[bool]]
# Raises if the plan must not be applied now.
Permit = Callable[[Plan], Awaitable[None]]
# Raises if this run lost its lock to another one.
Check = Callable[[], Awaitable[None]]


async def unfenced() -> None:
    """Without a shared lock, no other run can take over."""


async def agree(_: Plan) -> bool:
    return True


async def permit(_: Plan) -> None:
    """Nothing but the stages themselves refuses a plan."""


async def decline(_: NewPlan) -> bool:
    return False


def _forget(_: Approval) -> None:
    pass


@dataclass(frozen=True)
class Options:
    selection: Selection = ALL
    dry_run: bool = False
    max_parallel: int = 4
    # Called once, when the whole plan is known and contains changes.
    confirm: Confirm = agree
    # Called before that.
    permit: Permit = permit
    # The user answers `confirm`, and is asked again if a stage would do more than was shown.
    asks: bool = False
    reconfirm: Reconfirm = decline
    # Stores the approved plan.
    keep: Keep = _forget
    # Called before each change, and before a stage stores what it concluded.
    fence: Check = unfenced


@dataclass
class _Progress:
    """The progress of the run; read when the run ends for any reason."""

    names: list[str]
    results: dict[str, StageResult] = field(default_factory=dict)
    # Something was applied: earlier observations are out of date.
    dirty: bool = False
    # The plan was shown, and time passed until the answer.
    asked: bool = False

    def everything(self) -> tuple[StageResult, ...]:
        reached = self.results
        return tuple(reached.get(n, StageResult(n, StageStatus.NOT_REACHED)) for n in self.names)


async def run_stages(
    stages: Sequence[AnyStage],
    *,
    emit: Emit,
    options: Options | None = None,
    interruption: Interruption | None = None,
) -> RunResult:
    """Run the selected stages; a TalopsError becomes part of the result, anything else is a bug."""
    options, interruption = options or Options(), interruption or Interruption()
    started = time.monotonic()
    progress = _Progress([stage.name for stage in stages])
    error: TalopsError | None = None
    status = RunStatus.FAILED
    try:
        status = await _run(stages, options, interruption, emit, progress)
    except InterruptedRunError as stop:
        status, error = RunStatus.INTERRUPTED, stop
    except TalopsError as failure:
        error = failure
    return RunResult(status, progress.everything(), _since(started), error)


async def _run(
    stages: Sequence[AnyStage],
    options: Options,
    interruption: Interruption,
    emit: Emit,
    progress: _Progress,
) -> RunStatus:
    left_out = select(progress.names, options.selection)
    planning = make_plan(stages, left_out, emit, patient=not options.dry_run)
    plan = await interruption.step(planning, atomic=False)
    if options.dry_run:
        progress.results = {p.stage.name: _outlook(p) for p in plan.stages}
        return RunStatus.DIFFERENCES if plan.pending else RunStatus.UNCHANGED
    await interruption.step(_permit(options, plan), atomic=False)
    if plan.pending and not await interruption.step(_ask(options, plan), atomic=False):
        return RunStatus.DECLINED
    progress.asked = options.asks and plan.pending
    keep = options.keep if plan.pending else _forget
    approvals = Approvals(approve(plan), options.reconfirm, keep, unseen=not options.asks)
    executor = _Executor(options, interruption, emit, progress, approvals)
    for stage_plan in plan.stages:
        await executor.run(stage_plan)
    return RunStatus.DONE if progress.dirty else RunStatus.UNCHANGED


async def _permit(options: Options, plan: Plan) -> None:
    """What would be refused later is refused before the question, and before any change."""
    found = [refused for each in plan.stages for refused in each.refusals]
    if found:
        raise found[0]
    await options.permit(plan)


async def _ask(options: Options, plan: Plan) -> bool:
    return await options.confirm(plan)


def _outlook(plan: StagePlan) -> StageResult:
    status = {
        "skipped": StageStatus.SKIPPED,
        "unknown": StageStatus.UNKNOWN,
        "changes": StageStatus.WOULD_CHANGE,
        "unchanged": StageStatus.UNCHANGED,
    }[plan.outlook]
    reason = plan.left_out
    if plan.unknown:
        reason = f"unknown until {plan.unknown.depends_on} has run: {plan.unknown.reason}"
    changes = tuple(str(change) for change in plan.changes)
    return StageResult(plan.stage.name, status, reason, round(plan.seconds, 3), changes)


class _Executor:
    """Apply and verify one stage after the other."""

    def __init__(
        self,
        options: Options,
        interruption: Interruption,
        emit: Emit,
        progress: _Progress,
        approvals: Approvals,
    ) -> None:
        self.options = options
        self.interruption = interruption
        self.emit = emit
        self.progress = progress
        self.approvals = approvals

    async def run(self, plan: StagePlan) -> None:
        name = plan.stage.name
        started = time.monotonic() - plan.seconds
        if plan.left_out:
            self._finish(StageResult(name, StageStatus.SKIPPED, plan.left_out))
            return
        self.interruption.check()
        self.emit(StageStarted(name))
        done: list[Change] = []
        try:
            await self._work(plan, done)
        except InterruptedRunError as stop:
            self._fail(name, StageStatus.INTERRUPTED, stop.what, started, done)
            raise
        except TalopsError as error:
            self._fail(name, StageStatus.FAILED, str(error), started, done)
            raise
        except Exception as bug:
            self._fail(name, StageStatus.FAILED, f"bug: {bug!r}", started, done)
            raise
        status = StageStatus.CHANGED if done else StageStatus.UNCHANGED
        self._finish(StageResult(name, status, "", _since(started), _texts(done)))

    async def _work(self, plan: StagePlan, done: list[Change]) -> None:
        stage = plan.stage
        # While a question is open, the world can change.
        if self.progress.dirty or plan.unknown or self.progress.asked:
            plan = await self._again(stage)
        if plan.changes:
            self.emit(StepStarted(stage.name, "apply"))
            await self._apply_known(plan, done)
        elif stage.proven_by_look:
            return  # its `verify` would only observe again, and the plan is already empty
        self.emit(StepStarted(stage.name, "verify"))
        seen = Seen(plan.facts, tuple(done))
        await self.interruption.step(stage.verify(seen), atomic=False)
        await self.options.fence()
        await self.interruption.step(stage.conclude(seen), atomic=True)

    async def _again(self, stage: AnyStage) -> StagePlan:
        """A new plan of the stage, all of whose known changes are approved."""
        plan = await self.interruption.step(look_again(stage, self.emit), atomic=False)
        await self.interruption.step(_permit(self.options, Plan((plan,))), atomic=False)
        asking = self.approvals.require(stage.name, plan.changes, dirty=self.progress.dirty)
        await self.interruption.step(asking, atomic=False)
        return plan

    async def _apply_known(self, plan: StagePlan, done: list[Change]) -> None:
        """Changes whose effect was unknown are planned again when those before them are done."""
        for _ in plan.changes:
            known = plan.changes[: _known(plan.changes)]
            if not known or known == plan.changes:
                break
            await self._apply_batches(plan.stage, known, done)
            plan = await self._again(plan.stage)
        await self._apply_batches(plan.stage, plan.changes, done)

    async def _apply_batches(
        self, stage: AnyStage, changes: tuple[Change, ...], done: list[Change]
    ) -> None:
        for batch in stage.batches(changes, self.options.max_parallel):
            await self._apply_all(stage, batch, done)

    async def _apply_all(self, stage: AnyStage, batch: Batch, done: list[Change]) -> None:
        queue = deque(batch.changes)

        async def work() -> None:
            try:
                while queue:
                    change = queue.popleft()
                    await self._apply(stage, change)
                    done.append(change)
            except BaseException:
                queue.clear()
                raise

        # Started changes are finished even when another change fails; no new change is started.
        outcomes = await asyncio.gather(
            *(work() for _ in range(max(1, batch.width))), return_exceptions=True
        )
        self._raise_first([o for o in outcomes if isinstance(o, BaseException)])

    def _raise_first(self, failures: list[BaseException]) -> None:
        # A failure is more informative than the interruption it came with.
        failures.sort(key=lambda failure: isinstance(failure, InterruptedRunError))
        for other in failures[1:]:
            if not isinstance(other, InterruptedRunError):
                self.emit(Note(f"also failed: {other}", level="error"))
        if failures:
            raise failures[0]

    async def _apply(self, stage: AnyStage, change: Change) -> None:
        self.interruption.check()
        await self.options.fence()
        self.progress.dirty = True
        started = time.monotonic()
        about = (stage.name, change.action, change.target, change.node)
        self.emit(ChangeStarted(*about))
        await self.interruption.step(stage.apply(change), atomic=True)
        self.emit(ChangeFinished(*about, seconds=_since(started)))

    def _fail(
        self, name: str, status: StageStatus, reason: str, started: float, done: list[Change]
    ) -> None:
        self._finish(StageResult(name, status, reason, _since(started), _texts(done)))

    def _finish(self, result: StageResult) -> None:
        self.progress.results[result.stage] = result
        self.emit(
            StageFinished(
                result.stage, result.status, result.reason, result.seconds, len(result.changes)
            )
        )


def _known(changes: Sequence[Change]) -> int:
    """How many changes come before the first one whose effect is unknown."""
    unknown = (place for place, change in enumerate(changes) if change.items() is None)
    return next(unknown, len(changes))


def _texts(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(str(change) for change in changes)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)

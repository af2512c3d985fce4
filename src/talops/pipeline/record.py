"""A run on record: lock, run directory, checkpoint and retention around `run_stages`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.events import (
    Emit,
    Event,
    Note,
    PlannedChange,
    RunFinished,
    RunStarted,
    StageFinished,
)
from talops.files import PRIVATE, write_atomic
from talops.pipeline.diary import fingerprint, load
from talops.pipeline.durations import Durations, last_durations
from talops.pipeline.history import prune
from talops.pipeline.interrupt import Interruption
from talops.pipeline.lock import Holder, local_lock, proof_of, shared_lock
from talops.pipeline.result import RunResult, RunStatus
from talops.pipeline.rundir import RunDirectory, RunInfo, new_run_id, redact_values
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.pipeline.approving import Approval
    from talops.pipeline.run import Run
    from talops.pipeline.stage import AnyStage
    from talops.redaction import Redactor, Secret


async def run_recorded(
    run: Run, *, view: Emit, interruption: Interruption | None = None
) -> RunResult:
    """Run a workflow under the lock and record it; `view` receives every event, masked."""
    home = run.root / ".talops"
    name = new_run_id(run.command)
    holder = Holder.myself(name, run.command, run.root)
    with local_lock(home / "lock", holder):
        holder = replace(holder, proof=proof_of(home / "lock"))

        def warn(text: str) -> None:
            view(Note(text, "warning"))

        async with shared_lock(run.shared, holder, warn, run.fence):
            _keep_out_of_git(home)
            prune(home / "runs", keep=run.keep - 1)
            record = Record(run, home, name, view)
            return await record.go(interruption or Interruption())


def _blind(_: Event) -> None:
    pass


class Record:
    """A run in progress: stages are built with it and report to it."""

    def __init__(self, request: Run, home: Path, run: str, view: Emit) -> None:
        self.request = request
        self.run = run
        self.view = view
        self._home = home
        self.recording = True
        self.approved = 0
        self.inventory = fingerprint(request.inventory)
        self.diary_file = home / "checkpoint.json"
        self.last = load(self.diary_file)
        self.diary = self.last.begin(run, request.command, self.inventory)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        info = RunInfo(
            run, request.command, request.cluster, now, self.inventory, dict(request.tools)
        )
        self.directory = RunDirectory(home / "runs" / run, info, request.redact)

    @cached_property
    def _durations(self) -> Durations:
        """Read only if something changes."""
        return last_durations(self._home)

    def report(self, stage: str) -> Reporter:
        return Reporter(stage, self.emit)

    def artifact(self, stage: str, name: str, text: str) -> None:
        self.emit(self.directory.artifact(stage, name, text))

    def learn(self, *secrets: Secret) -> None:
        """Mask these values in every event, log and artifact from now on."""
        self.directory.redact.learn(*secrets)

    async def go(self, interruption: Interruption) -> RunResult:
        with self.directory:
            interruption.say = lambda text: self.emit(Note(text, level="warning"))
            self._save()
            try:
                stages = self.request.build(self)
            except TalopsError as error:
                self._announce([])
                result = self._finish(RunResult(RunStatus.FAILED, (), 0.0, error))
            else:
                self._announce([stage.name for stage in stages])
                result = await self._guarded(stages, interruption)
            self._save(finished=True)
            return result

    async def _guarded(self, stages: Sequence[AnyStage], interruption: Interruption) -> RunResult:
        try:
            fence = self.request.fence.check
            options = replace(self.request.options, keep=self._keep, fence=fence)
            result = await run_stages(
                stages, emit=self.emit, options=options, interruption=interruption
            )
        except (Exception, asyncio.CancelledError) as bug:
            self._finish(RunResult(RunStatus.FAILED, (), 0.0, TalopsError(f"bug: {bug!r}")))
            raise
        return self._finish(result)

    def _keep(self, approval: Approval) -> None:
        """Each approved plan of the run, with the hashes that it was compared by."""
        self.approved += 1
        whole = {**approval.as_dict(), "inventory": self.inventory}
        text = self.directory.redact_json(whole, indent=2) + "\n"
        try:
            self.artifact("plan", f"approved-{self.approved}.json", text)
        except OSError as error:
            self._record(Note(f"cannot store the approved plan: {error}", level="warning"))

    def emit(self, event: Event) -> None:
        if isinstance(event, PlannedChange):
            event = replace(event, last_seconds=self._durations.of(event))
        self._record(event)
        if isinstance(event, StageFinished):
            self.diary = self.diary.stage(event.stage, event.status)
            self._save()
        self._show(mask(event, self.directory.redact))

    # A full disk or a closed terminal must not interrupt a running change: the other output reports
    # it, and the run continues.

    def _record(self, event: Event) -> None:
        try:
            self.directory.record(event)
        except OSError as error:
            if self.recording:
                self.recording = False
                self._show(Note(f"the record of this run is incomplete: {error}", level="warning"))

    def _show(self, event: Event) -> None:
        try:
            self.view(event)
        except OSError as gone:
            self.view = _blind
            self._record(Note(f"cannot write to the terminal: {gone}", level="warning"))

    def _announce(self, stages: list[str]) -> None:
        request, last = self.request, self.last
        changed = last.changed_files(self.inventory)
        self.emit(
            RunStarted(
                self.run,
                request.command,
                request.cluster,
                tuple(stages),
                request.options.dry_run,
                changed,
                last.run,
            )
        )
        if last.problem:
            self.emit(Note(last.problem, level="warning"))
        if last.run and not last.finished:
            self.emit(Note(f"the last run ({last.run}) was interrupted; checking again"))

    def _finish(self, result: RunResult) -> RunResult:
        self.directory.finish(result)
        error = result.error.as_dict() if result.error else None
        commands = tuple(self.request.next_commands(result))
        self.emit(RunFinished(self.run, result.status, result.seconds, error, commands))
        return result

    def _save(self, *, finished: bool = False) -> None:
        if self.request.options.dry_run:  # a dry run changes nothing, not even the checkpoint
            return
        self.diary = self.diary.end() if finished else self.diary
        self.diary.save(self.diary_file)


def mask(event: Event, redact: Redactor) -> Event:
    values = redact_values(vars(event), redact)
    fixed = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return type(event)(**fixed)


def _keep_out_of_git(home: Path) -> None:
    ignore = home / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, "*\n", mode=PRIVATE)

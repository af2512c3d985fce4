"""Apply a saved plan: judged, in a safe order, retried where that helps, and checked for drift."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from talops.errors import DifferencesFoundError
from talops.tofu import policy as rules_of_conduct
from talops.tofu.errors import TofuError
from talops.tofu.events import BatchStarted, PlanJudged, Retrying
from talops.tofu.judge import Judged, judge
from talops.tofu.ordering import Batch, count_workers, parallelism, restart_batches
from talops.tofu.policy import Policy, RefusedError
from talops.tofu.retry import retryable
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from pathlib import Path

    from talops.tofu.diary import Diary
    from talops.tofu.engine import Engine
    from talops.tofu.plan import Change, Plan

# VMID → the slots of its disks as Proxmox shows them, without CD-ROM and cloud-init drives.
# A VM that is missing there could not be read; an empty set means that it has no disk.
Disks = Mapping[int, frozenset[str]]
ReadDisks = Callable[["Sequence[Change]"], Awaitable[Disks | None]]
Healthy = Callable[[Batch], Awaitable[None]]
RETRIES = 3
PAUSES = (2.0, 8.0, 20.0)


async def _unread(_: Sequence[Change]) -> Disks | None:
    return None


async def _no_wait(_: Batch) -> None:
    pass


@contextmanager
def fleeting(saved: Path) -> Iterator[Path]:
    """A plan file holds secrets: it does not stay."""
    try:
        yield saved
    finally:
        saved.unlink(missing_ok=True)


@dataclass(frozen=True)
class Conduct:
    """How to apply. `read_disks` looks at the real VMs; `healthy` returns when a batch is back."""

    policy: Policy = field(default_factory=Policy)
    read_disks: ReadDisks = _unread
    healthy: Healthy = _no_wait
    parallelism: int | None = None
    extra: tuple[str, ...] = ()
    pauses: tuple[float, ...] = PAUSES


class Applier:
    """Carries one layer from a plan file to a world that matches it."""

    def __init__(self, engine: Engine, conduct: Conduct, diary: Diary) -> None:
        self._engine = engine
        self._conduct = conduct
        self._diary = diary

    async def judged(self, saved: Path) -> tuple[Plan, list[Judged]]:
        """The verdict on a plan, announced."""
        plan = await self._engine.show(saved)
        disks = await self._conduct.read_disks(plan.acts)
        found = judge(plan, disks)
        rows = tuple(change.as_dict() for change in found)
        self._engine.emit(PlanJudged(self._engine.layer.name, rows))
        return plan, found

    async def apply(self, saved: Path) -> list[Judged]:
        """Do what the plan says and nothing else; refuse before anything is touched."""
        plan, changes = await self.judged(saved)
        if plan.errored:
            raise RefusedError(
                "the plan is not whole: making it failed half-way",
                where=self._engine.layer.name,
                hint=f"talops infra plan --layer {self._engine.layer.name}",
            )
        policy = replace(self._conduct.policy, fresh=self._diary.read())
        rules_of_conduct.check(self._engine.layer.name, changes, policy)
        self._diary.begin(c.address for c in changes if c.guest and c.effect is Effect.CREATES)
        batches = restart_batches(changes, count_workers(plan))
        if len(batches) > 1:
            await self._in_order(saved, batches, changes)
        else:
            await self._with_retries(saved, changes)
            for batch in batches:
                await self._conduct.healthy(batch)
        self._diary.done()
        return changes

    async def _in_order(
        self, saved: Path, batches: Sequence[Batch], approved: Sequence[Judged]
    ) -> None:
        """One targeted plan per batch, each held against what was approved; then the rest."""
        for number, batch in enumerate(batches, start=1):
            reason = "one control plane at a time" if batch.role == "controlplane" else "in batches"
            self._engine.emit(
                BatchStarted(self._engine.layer.name, number, len(batches), batch.names, reason)
            )
            part = saved.with_name(f"{saved.stem}.part.tfplan")
            await self._again(part, approved, targets=batch.addresses)
            await self._conduct.healthy(batch)
        await self._again(saved, approved)

    async def _again(
        self, saved: Path, approved: Sequence[Judged], targets: Sequence[str] = ()
    ) -> None:
        """Plan anew and apply, if nothing is in it that was not approved."""
        with fleeting(saved):
            if await self._engine.plan(saved, targets=targets):
                _, changes = await self.judged(saved)
                self._must_be_approved(changes, approved)
                await self._with_retries(saved, approved, targets)

    async def _with_retries(
        self, saved: Path, approved: Sequence[Judged], targets: Sequence[str] = ()
    ) -> None:
        attempt = 0
        while True:
            try:
                count = parallelism(approved, self._conduct.parallelism)
                await self._engine.apply(saved, parallelism=count, extra=self._conduct.extra)
            except TofuError as error:
                reason = retryable(error.diagnostics)
                if reason is None or attempt >= len(self._conduct.pauses):
                    raise
                await self._pause(attempt, reason)
                attempt += 1
                if not await self._engine.plan(saved, targets=targets):
                    return
                _, changes = await self.judged(saved)
                self._must_be_approved(changes, approved)
            else:
                return

    async def _pause(self, attempt: int, reason: str) -> None:
        self._engine.emit(Retrying(self._engine.layer.name, attempt + 1, reason))
        await asyncio.sleep(self._conduct.pauses[attempt])

    def _must_be_approved(self, changes: Sequence[Judged], approved: Sequence[Judged]) -> None:
        """A later plan may do less than the approved one, never more."""
        limits = {change.address: change for change in approved}
        fresh = self._diary.read()
        for change in changes:
            if change.tainted and change.address in fresh:
                continue
            limit = limits.get(change.address)
            if limit is None or change.effect > limit.effect:
                raise RefusedError(
                    f"the world changed meanwhile: {change.name} would now be touched "
                    f"({change.effect}: {change.why})",
                    where=f"{self._engine.layer.name} {change.address}",
                    hint=f"talops infra plan --layer {self._engine.layer.name}",
                )

    async def no_drift(self, saved: Path) -> None:
        """The gate: a second plan must be empty."""
        with fleeting(saved):
            if not await self._engine.plan(saved, step="check"):
                return
            plan, changes = await self.judged(saved)
        if plan.empty:
            return
        lines = [f"{c.name} ({c.effect}): {', '.join(map(str, c.causes))}" for c in changes]
        raise DifferencesFoundError(
            "the plan after apply is not empty:\n  " + "\n  ".join(lines or ["an output differs"]),
            where=self._engine.layer.name,
            hint=f"talops infra plan --layer {self._engine.layer.name}",
        )

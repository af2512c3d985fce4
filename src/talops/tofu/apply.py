"""Apply a saved plan: judged, in a safe order, with retries, and verified by a second plan."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from talops.errors import DifferencesFoundError
from talops.tofu import policy as rules_of_conduct
from talops.tofu.diary import ADOPTED, Diary
from talops.tofu.errors import TofuError
from talops.tofu.events import BatchStarted, PlanJudged, ResourceChange, Retrying
from talops.tofu.judge import Judged, judge
from talops.tofu.ordering import Batch, count_workers, parallelism, restart_batches
from talops.tofu.policy import Policy, RefusedError
from talops.tofu.retry import retryable
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from pathlib import Path

    from talops.events import Event
    from talops.tofu.engine import Engine
    from talops.tofu.plan import Change, Plan

# VMID → the slots of its disks as Proxmox shows them, without CD-ROM and cloud-init drives.
# A missing VM could not be read; an empty set means that it has no disks.
Disks = Mapping[int, frozenset[str]]
ReadDisks = Callable[["Sequence[Change]"], Awaitable[Disks | None]]
Healthy = Callable[[Batch], Awaitable[None]]
# Address → import id (NODE/VMID) of VMs that exist but are not in the state.
FindLost = Callable[["Sequence[Change]"], Awaitable[Mapping[str, str]]]
RETRIES = 3
PAUSES = (2.0, 8.0, 20.0)


async def _unread(_: Sequence[Change]) -> Disks | None:
    return None


async def _none_lost(_: Sequence[Change]) -> Mapping[str, str]:
    return {}


async def no_wait(_: Batch) -> None:
    """Before the first cluster exists, nothing has to be healthy."""


@contextmanager
def fleeting(saved: Path) -> Iterator[Path]:
    """A plan file contains secrets, so it is removed."""
    try:
        yield saved
    finally:
        saved.unlink(missing_ok=True)


@dataclass(frozen=True)
class Conduct:
    """How to apply: `read_disks` and `find_lost` read the real VMs, `healthy` waits for them."""

    policy: Policy = field(default_factory=Policy)
    read_disks: ReadDisks = _unread
    healthy: Healthy = no_wait
    find_lost: FindLost = _none_lost
    parallelism: int | None = None
    extra: tuple[str, ...] = ()
    # A later plan of this apply uses the same options: destroy, and these targets only.
    destroy: bool = False
    targets: tuple[str, ...] = ()
    pauses: tuple[float, ...] = PAUSES


class Applier:
    """Applies the saved plan of one layer until the real infrastructure matches it."""

    def __init__(self, engine: Engine, conduct: Conduct, diary: Diary) -> None:
        self._engine = engine
        self._conduct = conduct
        self._diary = diary
        engine.watch(self._note)

    def _note(self, event: Event) -> None:
        """A VM is fresh only until its creation has finished."""
        if isinstance(event, ResourceChange) and event.phase == "complete":
            self._diary.finished(event.address)

    async def judged(self, saved: Path) -> tuple[Plan, list[Judged]]:
        """Judge a plan and report the result."""
        plan = await self._engine.show(saved)
        disks = await self._conduct.read_disks(plan.acts)
        found = judge(plan, disks)
        rows = tuple(change.as_dict() for change in found)
        self._engine.emit(PlanJudged(self._engine.layer.name, rows))
        return plan, found

    async def apply(self, saved: Path) -> list[Judged]:
        """Apply exactly this plan; refuse before the first change."""
        plan, changes = await self.judged(saved)
        if await self._adopt(plan):
            approved = changes
            await self._plan(saved)
            plan, changes = await self.judged(saved)
            self._must_be_approved(changes, approved)
        if plan.errored:
            raise RefusedError(
                "the plan is incomplete, because planning failed",
                where=self._engine.layer.name,
                hint=f"talops infra plan --layer {self._engine.layer.name}",
            )
        fresh = self._diary.fresh(plan)
        policy = replace(self._conduct.policy, fresh=fresh)
        rules_of_conduct.check(self._engine.layer.name, changes, policy)
        self._diary.keep_only(fresh)
        self._diary.write(c.address for c in changes if c.guest and c.effect is Effect.CREATES)
        await self._carry_out(saved, changes, restart_batches(changes, count_workers(plan), fresh))
        self._diary.keep_only(())
        return changes

    async def _carry_out(
        self, saved: Path, changes: Sequence[Judged], batches: Sequence[Batch]
    ) -> None:
        if len(batches) > 1:
            await self._in_order(saved, batches, changes)
            return
        await self._with_retries(saved, changes)
        for batch in batches:
            await self._conduct.healthy(batch)

    async def _adopt(self, plan: Plan) -> bool:
        """Import VMs that a killed run created but did not record in the state."""
        known = self._diary.read()
        lost = [c for c in plan.acts if c.actions == ("create",) and c.address in known]
        if not lost:
            return False
        found = await self._conduct.find_lost(lost)
        for change in lost:
            if change.address in found:
                self._diary.write([change.address], ADOPTED)
                await self._engine.import_resource(change.address, found[change.address])
        return bool(found)

    async def _in_order(
        self, saved: Path, batches: Sequence[Batch], approved: Sequence[Judged]
    ) -> None:
        """One targeted plan per batch, each compared with the approved plan; then the rest."""
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
        """Plan again, and apply the plan if it has only approved changes."""
        with fleeting(saved):
            if await self._plan(saved, targets):
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
                if not await self._plan(saved, targets):
                    return
                _, changes = await self.judged(saved)
                self._must_be_approved(changes, approved)
            else:
                return

    async def _plan(self, saved: Path, targets: Sequence[str] = ()) -> bool:
        conduct = self._conduct
        return await self._engine.plan(
            saved, destroy=conduct.destroy, targets=targets or conduct.targets
        )

    async def _pause(self, attempt: int, reason: str) -> None:
        self._engine.emit(Retrying(self._engine.layer.name, attempt + 1, reason))
        await asyncio.sleep(self._conduct.pauses[attempt])

    def _must_be_approved(self, changes: Sequence[Judged], approved: Sequence[Judged]) -> None:
        """A later plan may have fewer changes than the approved one, never more."""
        limits = {change.address: change for change in approved}
        making = self._diary.read()
        for change in changes:
            if change.address in making:
                continue
            limit = limits.get(change.address)
            if limit is None or change.effect > limit.effect:
                raise RefusedError(
                    f"the infrastructure changed since the plan: {change.name} would now change "
                    f"({change.effect}: {change.why})",
                    where=f"{self._engine.layer.name} {change.address}",
                    hint=f"talops infra plan --layer {self._engine.layer.name}",
                )

    async def no_drift(self, saved: Path) -> None:
        """Verify the result: a second plan must be empty."""
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

"""Apply a saved plan: judged, in a safe order, with retries, and verified by a second plan."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from talops.approval import beyond
from talops.errors import DifferencesFoundError, NotApprovedError
from talops.tofu import policy as policies
from talops.tofu.approval import items
from talops.tofu.creation_record import ADOPTED, CreationRecord
from talops.tofu.errors import TofuError
from talops.tofu.events import BatchStarted, PlanJudged, ResourceChange, Retrying
from talops.tofu.judge import Judged, judge
from talops.tofu.ordering import Batch, count_workers, parallelism, restart_batches
from talops.tofu.policy import RefusedError
from talops.tofu.retry import retryable
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from talops.approval import Item
    from talops.events import Event
    from talops.tofu.apply_options import ApplyOptions
    from talops.tofu.engine import Engine
    from talops.tofu.plan import Plan


@contextmanager
def fleeting(saved: Path) -> Iterator[Path]:
    """A plan file contains secrets, so it is removed."""
    try:
        yield saved
    finally:
        saved.unlink(missing_ok=True)


class Applier:
    """Applies the saved plan of one layer until the real infrastructure matches it."""

    def __init__(self, engine: Engine, options: ApplyOptions, created: CreationRecord) -> None:
        self._engine = engine
        self._options = options
        self._created = created
        engine.watch(self._note)

    def _note(self, event: Event) -> None:
        """A VM is fresh only until its creation has finished."""
        if isinstance(event, ResourceChange) and event.phase == "complete":
            self._created.finished(event.address)

    async def judged(self, saved: Path) -> tuple[Plan, list[Judged]]:
        """Judge a plan and report the result."""
        plan = await self._engine.show(saved)
        disks = await self._options.read_disks(plan.acts)
        found = judge(plan, disks)
        rows = tuple(change.as_dict() for change in found)
        self._engine.emit(PlanJudged(self._engine.layer.name, rows))
        return plan, found

    def refusal(self, plan: Plan, changes: Sequence[Judged]) -> RefusedError | None:
        """Why this plan is not allowed, before anyone is asked to approve it."""
        allowed = replace(self._options.policy, fresh=self._created.fresh(plan))
        try:
            policies.check(self._engine.layer.name, changes, allowed)
        except RefusedError as refused:
            return refused
        return None

    async def apply(self, saved: Path, approved: Sequence[Item] | None = None) -> list[Judged]:
        """Apply exactly this plan; refuse before the first change. `approved`: the changes that
        were shown and confirmed; None if that is this plan.
        """
        plan, changes = await self.judged(saved)
        if approved is None:
            approved = items(changes)
        kept = await self._keep_files(plan)
        if await self._adopt(plan) or kept:
            await self._plan(saved)
            plan, changes = await self.judged(saved)
        fresh = self._check(plan, changes, approved)
        await self._options.permit(items(changes))
        await self._must_be_free(plan)
        sick = await self._options.guard.sick() if self._concerns_etcd(changes) else frozenset()
        batches = await self._batches(plan, changes, fresh, sick)
        await self._foresee(changes, batches, fresh)
        self._created.keep_only(fresh)
        self._created.write(c.address for c in changes if c.guest and c.effect is Effect.CREATES)
        await self._carry_out(saved, (plan, changes), batches, items(changes))
        self._created.keep_only(())
        return changes

    async def _batches(
        self, plan: Plan, changes: Sequence[Judged], fresh: frozenset[str], sick: frozenset[str]
    ) -> list[Batch]:
        workers, roll = count_workers(plan), self._options.roll
        found = restart_batches(changes, workers, fresh, sick)
        if roll is None or not found:
            return found
        ranks = await roll.ranks([name for batch in found for name in batch.nodes])
        return restart_batches(changes, workers, fresh, sick, width=roll.width, ranks=ranks)

    def _check(
        self, plan: Plan, changes: Sequence[Judged], approved: Sequence[Item]
    ) -> frozenset[str]:
        """Judge a plan whole: every rule, and nothing that was not approved. Returns the addresses
        of VMs whose creation did not finish.
        """
        layer = self._engine.layer.name
        again = f"talops infra plan --layer {layer}"
        if plan.errored:
            raise RefusedError(
                "the plan is incomplete, because planning failed", where=layer, hint=again
            )
        fresh = self._created.fresh(plan)
        policies.check(layer, changes, replace(self._options.policy, fresh=fresh))
        more = beyond(items(changes), approved, making=self._created.read())
        if more:
            raise NotApprovedError(
                "the infrastructure changed since the plan: " + "; ".join(map(str, more)),
                where=f"{layer} {more[0].item.object}",
                hint=again,
            )
        return fresh

    def _concerns_etcd(self, changes: Sequence[Judged]) -> bool:
        """A VM that is off may be the member that etcd misses."""
        return not self._options.policy.everything and any(c.stops or c.off for c in changes)

    async def _foresee(
        self, changes: Sequence[Judged], batches: Sequence[Batch], fresh: frozenset[str]
    ) -> None:
        """Before the first change, etcd must be able to survive all of them in their order."""
        if not self._concerns_etcd(changes):
            return
        steps = [[c for c in changes if c.address in batch.addresses] for batch in batches]
        ordered = {c.address for step in steps for c in step} | fresh
        await self._options.guard.permit([*steps, [c for c in changes if c.address not in ordered]])

    async def _carry_out(
        self,
        saved: Path,
        judged: tuple[Plan, list[Judged]],
        batches: Sequence[Batch],
        approved: Sequence[Item],
    ) -> None:
        ordered = {address for batch in batches for address in batch.addresses}
        left = [
            change
            for change in judged[1]
            if change.address not in ordered and (change.stops or self._takes_time(change))
        ]
        if len(batches) > 1 or (batches and left):
            await self._in_order(saved, batches, approved)
            return
        if batches:
            await self._carry(batches[0], lambda: self._with_retries(saved, judged, approved))
        else:
            await self._with_retries(saved, judged, approved)

    def _takes_time(self, change: Judged) -> bool:
        """No node is out of service while other VMs are created."""
        return bool(self._options.roll) and change.guest and change.effect is Effect.CREATES

    async def _carry(self, batch: Batch, act: Callable[[], Awaitable[None]]) -> None:
        if self._options.roll:
            await self._options.roll.carry(batch, act)
            return
        await act()
        await self._options.healthy(batch)

    async def _adopt(self, plan: Plan) -> bool:
        """Import VMs that a killed run created but did not record in the state."""
        known = self._created.read()
        lost = [c for c in plan.acts if c.actions == ("create",) and c.address in known]
        if not lost:
            return False
        found = await self._options.find_lost(lost)
        for change in lost:
            if change.address in found:
                self._created.write([change.address], ADOPTED)
                await self._options.fence()
                await self._engine.import_resource(change.address, found[change.address])
        return bool(found)

    async def _keep_files(self, plan: Plan) -> bool:
        """Keep complete downloads. The new one would have the path of the old one, which is deleted
        last, so that a replacement ends without the file.
        """
        whole = [change.address for change in plan.acts if change.whole_file]
        for address in whole:
            await self._options.fence()
            await self._engine.untaint(address)
        return bool(whole)

    async def _must_be_free(self, plan: Plan) -> None:
        """Refuse to create a VM whose VMID is used.

        If the VMID is free now, a VM that has it later and never ran is the one that this run
        began to create.
        """
        taken = await self._options.occupied([c for c in plan.acts if c.actions == ("create",)])
        if taken:
            raise RefusedError(
                "refused to create VMs; nothing was changed:\n  " + "\n  ".join(taken.values()),
                where=self._engine.layer.name,
                hint="give the node another vm_id, or move or remove that VM; if it is this "
                "cluster's own and only the state is lost: talops recover",
            )

    async def _in_order(
        self, saved: Path, batches: Sequence[Batch], approved: Sequence[Item]
    ) -> None:
        """One targeted plan per batch, each compared with the approved plan; then the rest."""
        for number, batch in enumerate(batches, start=1):
            reason = "one control plane at a time" if batch.role == "controlplane" else "in batches"
            self._engine.emit(
                BatchStarted(self._engine.layer.name, number, len(batches), batch.names, reason)
            )
            part = saved.with_name(f"{saved.stem}.part.tfplan")
            with fleeting(part):
                judged = await self._planned_again(part, approved, batch.addresses)
                if judged is None:
                    await self._options.healthy(batch)
                    continue
                act = partial(self._with_retries, part, judged, approved, batch.addresses)
                await self._carry(batch, act)
        with fleeting(saved):
            if rest := await self._planned_again(saved, approved, ()):
                await self._with_retries(saved, rest, approved)

    async def _planned_again(
        self, saved: Path, approved: Sequence[Item], targets: Sequence[str]
    ) -> tuple[Plan, list[Judged]] | None:
        """A later plan, judged like the first one; None if it has no changes."""
        if not await self._plan(saved, targets):
            return None
        plan, changes = await self.judged(saved)
        if await self._keep_files(plan):
            return await self._planned_again(saved, approved, targets)
        self._check(plan, changes, approved)
        return plan, changes

    async def _with_retries(
        self,
        saved: Path,
        judged: tuple[Plan, list[Judged]],
        approved: Sequence[Item],
        targets: Sequence[str] = (),
    ) -> None:
        attempt = 0
        while True:
            await self._permit(*judged)
            await self._options.fence()
            try:
                count = parallelism(judged[1], self._options.parallelism)
                await self._engine.apply(saved, parallelism=count, extra=self._options.extra)
            except TofuError as error:
                reason = retryable(error.diagnostics)
                if reason is None or attempt >= len(self._options.pauses):
                    raise
                await self._pause(attempt, reason)
                attempt += 1
                found = await self._planned_again(saved, approved, targets)
                if found is None:
                    return
                judged = found
            else:
                return

    async def _permit(self, plan: Plan, changes: Sequence[Judged]) -> None:
        """Right before an apply: etcd survives it, and each VM to destroy is the recorded one."""
        fresh = self._created.fresh(plan)
        if self._concerns_etcd(changes):
            await self._options.guard.permit([[c for c in changes if c.address not in fresh]])
        going = [c for c in plan.acts if "delete" in c.actions and c.before]
        await self._options.identify([c for c in going if c.address not in fresh])

    async def _plan(self, saved: Path, targets: Sequence[str] = ()) -> bool:
        options = self._options
        return await self._engine.plan(
            saved, destroy=options.destroy, targets=targets or options.targets
        )

    async def _pause(self, attempt: int, reason: str) -> None:
        self._engine.emit(Retrying(self._engine.layer.name, attempt + 1, reason))
        await asyncio.sleep(self._options.pauses[attempt])

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

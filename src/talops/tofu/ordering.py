"""The order in which VMs restart. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.tofu.plan import CONTROL_PLANE, VM, WORKER
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from talops.tofu.judge import Judged
    from talops.tofu.plan import Plan

DEFAULT_PARALLELISM = 10
# Each clone or allocation holds a storage lock; more at once would only time out.
CREATE_PARALLELISM = 4


@dataclass(frozen=True)
class Batch:
    """VMs that restart together and must be healthy before the next batch."""

    role: str
    names: tuple[str, ...]
    addresses: tuple[str, ...]


def restart_batches(
    changes: Sequence[Judged], workers: int, fresh: Collection[str] = ()
) -> list[Batch]:
    """Control planes one by one, then workers (a third of all `workers` at most), then others.

    VMs in `fresh` run nothing yet, so they need no order.
    """
    restarting = {Effect.RESTARTS, Effect.REMOVES_DISK}
    restarts = sorted(
        (c for c in changes if c.guest and c.effect in restarting and c.address not in fresh),
        key=lambda change: change.name,
    )
    batches: list[Batch] = []
    for role, size in ((CONTROL_PLANE, 1), (WORKER, max(1, workers // 3)), ("", len(restarts))):
        group = [change for change in restarts if change.role == role]
        for start in range(0, len(group), size or 1):
            part = group[start : start + size]
            names, addresses = zip(*((c.name, c.address) for c in part), strict=True)
            batches.append(Batch(role, names, addresses))
    return batches


def count_workers(plan: Plan) -> int:
    """All workers in the plan, changed or not."""
    return sum(change.type == VM and change.role == WORKER for change in plan.changes)


def parallelism(changes: Sequence[Judged], wanted: int | None = None) -> int:
    """The value of -parallelism: low while disks are created, otherwise OpenTofu's default."""
    if wanted:
        return wanted
    making = {Effect.CREATES, Effect.REPLACES}
    busy = any(change.guest and change.effect in making for change in changes)
    return CREATE_PARALLELISM if busy else DEFAULT_PARALLELISM

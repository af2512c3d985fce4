"""The order in which VMs restart. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.tofu.plan import CONTROL_PLANE, VM, WORKER
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from talops.tofu.judge import Judged
    from talops.tofu.plan import Plan

DEFAULT_PARALLELISM = 10
# Each clone or allocation holds a storage lock; more at once would only time out.
CREATE_PARALLELISM = 4
NO_RANKS: Mapping[str, int] = {}
RESTARTING = frozenset({Effect.RESTARTS, Effect.DISCONNECTS, Effect.REMOVES_DISK})


@dataclass(frozen=True)
class Batch:
    """VMs that change together and must be healthy before the next batch.

    `whole`: etcd has all its members after this batch; otherwise members of later batches are
    not healthy yet. `off`: they do not run. `grown`: nodes that use their larger disk after a
    reboot only.
    """

    role: str
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    whole: bool = True
    off: bool = False
    grown: tuple[str, ...] = ()


def restart_batches(
    changes: Sequence[Judged],
    workers: int,
    fresh: Collection[str] = (),
    sick: Collection[str] = (),
    *,
    width: int | None = None,
    ranks: Mapping[str, int] = NO_RANKS,
) -> list[Batch]:
    """Control planes one by one, then workers, then others.

    Control planes that are off come first, all together, because etcd misses them already; then
    those in `sick` (names of nodes). VMs in `fresh` do not run anything yet and need no order.
    `width` workers change together, a third of all `workers` at most if it is not given. Within
    its role, a node with a lower rank comes first.
    """
    ordered = sorted(
        (c for c in changes if _ordered(c, fresh)),
        key=lambda change: (ranks.get(change.node or change.name, 0), change.name),
    )
    planes = [change for change in ordered if change.role == CONTROL_PLANE]
    off = [change for change in planes if change.off]
    ill = [change for change in planes if not change.off and change.names & {*sick}]
    well = [change for change in planes if change not in off and change not in ill]
    repairs = [batch for batch in [off, *([change] for change in ill)] if batch]
    batches = [
        _batch(CONTROL_PLANE, group, whole=number == len(repairs))
        for number, group in enumerate(repairs, start=1)
    ]
    batches += [_batch(CONTROL_PLANE, [change]) for change in well]
    rest = [change for change in ordered if change not in planes]
    for role, size in ((WORKER, width or max(1, workers // 3)), ("", len(rest))):
        group = [change for change in rest if change.role == role]
        for start in range(0, len(group), size or 1):
            batches.append(_batch(role, group[start : start + size]))
    return batches


def _ordered(change: Judged, fresh: Collection[str]) -> bool:
    """VMs that restart, control planes that start, and nodes whose disk grows; not those that the
    plan destroys.
    """
    if not change.guest or change.address in fresh:
        return False
    starts = change.off and change.role == CONTROL_PLANE and change.effect is Effect.ONLINE
    return starts or _grows(change) or change.effect in RESTARTING


def _grows(change: Judged) -> bool:
    """A running node gets a larger disk: Proxmox grows it online, Talos when it boots."""
    grows = any(cause.attribute.endswith(".size") for cause in change.causes)
    return bool(change.role) and not change.off and change.effect is Effect.ONLINE and grows


def _batch(role: str, group: Sequence[Judged], *, whole: bool = True) -> Batch:
    names, addresses, nodes = zip(*((c.name, c.address, c.node) for c in group), strict=True)
    return Batch(
        role,
        names,
        addresses,
        nodes,
        whole,
        off=all(change.off for change in group),
        grown=tuple(change.node for change in group if _grows(change)),
    )


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

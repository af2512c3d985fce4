"""Stage `remove`: nodes that nodes.yaml does not have any more leave the cluster.

It runs after new nodes have joined, so that pods have a place to go to and etcd has its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import ConflictError, TalopsError
from talops.kube import kubeconfig_file
from talops.pipeline.stage import Absent, Batch, Change, Stage
from talops.rolls.removal.leaving import Leaving
from talops.rolls.removal.owned import Leavers, unnamed
from talops.rolls.removal.vm_removal import VmRemoval
from talops.rolls.standing import as_node, look_at_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter, Seen
    from talops.rolls.removal.removable import Removable
    from talops.rolls.rolling import Rolling
    from talops.rolls.standing import Known
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """In the order in which they leave. `members`: of etcd, before the first one leaves."""

    leavers: tuple[Known, ...] = ()
    members: int = 0


@dataclass(frozen=True)
class RemoveChange(Change):
    known: Known | None = None
    refused: ConflictError | None = None

    def refusal(self) -> TalopsError | None:
        return self.refused

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class Remove(Stage[Facts, RemoveChange]):
    name = "remove"
    proven_by_look = True

    def __init__(
        self, site: Site, report: Reporter, rolling: Rolling, removable: Removable
    ) -> None:
        self._site = site
        self._rolling = rolling
        self._removable = removable
        self._leavers = Leavers(site, report)
        vms = VmRemoval(site, report) if site.cluster.proxmox else None
        self._leaving = Leaving(rolling, vms, report)
        # A control plane that an interrupted run restarted takes the API with it.
        self.patience = site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._site.secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        if kubeconfig_file.entry(self._site.kubeconfig, self._site.cluster.name) is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        fleet = await self._site.secrets.fleet()
        found = await look_at_cluster(self._site.cluster, fleet, self._rolling.roller.kube)
        leavers = await self._leavers.of(found)
        sick = found.etcd.sick
        members = len(found.etcd.members)
        return Facts(tuple(sorted(leavers, key=lambda known: _place(known, sick))), members)

    def plan(self, facts: Facts) -> list[RemoveChange]:
        refused = unnamed(facts.leavers, self._removable)
        vm = ", VM and disks are destroyed" if self._site.cluster.proxmox else ""
        return [
            RemoveChange(
                "remove",
                known.name,
                f"drain{', leave etcd' if known.controller else ''}, wipe{vm}",
                known.name,
                known,
                refused,
                drains=True,
                members=members,
            )
            for known, members in zip(facts.leavers, _sizes(facts), strict=True)
        ]

    def batches(self, changes: Sequence[RemoveChange], at_most: int) -> list[Batch]:
        """Control planes one by one, then workers as many as a roll allows."""
        planes = tuple(c for c in changes if c.known and c.known.controller)
        workers = tuple(change for change in changes if change not in planes)
        width = min(self._rolling.roller.width, at_most)
        found = (Batch(planes), Batch(workers, width))
        return [batch for batch in found if batch.changes]

    async def apply(self, change: RemoveChange) -> None:
        assert change.known
        node = as_node(change.known, self._site.cluster)
        await self._leaving.leave(node, "removed from nodes.yaml")

    async def verify(self, _: Seen[Facts, RemoveChange], /) -> None:
        found = await self.observe()
        if isinstance(found, Facts) and found.leavers:
            left = ", ".join(known.name for known in found.leavers)
            raise TalopsError(f"still part of the cluster: {left}", hint="talops up")


def _sizes(facts: Facts) -> list[tuple[int, ...]]:
    """How many members etcd has before and after each of them leaves."""
    sizes: list[tuple[int, ...]] = []
    left = facts.members
    for known in facts.leavers:
        counts = known.controller and left > 0
        sizes.append((left, left - 1) if counts else ())
        left -= counts
    return sizes


def _place(known: Known, sick: frozenset[str]) -> tuple[bool, bool, bool, str]:
    """What was begun, control planes, the sick ones."""
    return (not known.marked, not known.controller, known.name not in sick, known.name)

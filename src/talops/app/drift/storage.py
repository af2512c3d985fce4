"""Inventory ↔ datasets of TrueNAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import AreaDrift, Difference
from talops.stages.storage import CREATE, Storage
from talops.truenas.datasets import differences

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site
    from talops.stages.storage import DatasetChange, Facts

LAYER = "storage"
COMMAND = "talops up --only storage"


async def look(site: Site, report: Reporter) -> AreaDrift:
    if site.cluster.truenas is None:
        return AreaDrift(LAYER, notes=("the inventory has no section truenas",))
    stage = Storage(site, report)
    facts = await stage.observe()
    found = [d for change in stage.plan(facts) for d in rows(change, facts)]
    return AreaDrift(LAYER, tuple(found))


def rows(change: DatasetChange, facts: Facts) -> list[Difference]:
    """One row for a missing dataset, or one for each setting that differs."""
    row = (LAYER, change.target)
    if change.action == CREATE:
        return [Difference(*row, "exists", "yes", "no", "creates", COMMAND, safe=True)]
    return [
        Difference(*row, s.name, s.wanted, s.actual, "online", COMMAND, safe=True)
        for s in differences(change.wanted, facts.datasets[change.target])
    ]

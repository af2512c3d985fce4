"""Inventory ↔ generated files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import AreaDrift, Difference
from talops.generated import Action
from talops.plural import count

if TYPE_CHECKING:
    from talops.generated import Change
    from talops.stages.configure import Configure

LAYER = "files"


async def look(stage: Configure) -> AreaDrift:
    facts = await stage.observe()
    return AreaDrift(LAYER, tuple(difference(change) for change in facts.files))


def difference(change: Change) -> Difference:
    force = " --force" if change.edited else ""
    return Difference(
        LAYER,
        change.path,
        "content",
        wanted="absent" if change.action is Action.REMOVE else "as rendered from the inventory",
        actual=_actual(change),
        impact="online",
        command=f"talops configure{force}",
        # A manual edit is never overwritten without an explicit command.
        safe=not change.edited,
    )


def _actual(change: Change) -> str:
    if change.edited:
        return f"edited by hand: {_size(change)}"
    if change.action is Action.CREATE:
        return "missing"
    if change.action is Action.REMOVE:
        return "left over"
    return f"from an earlier inventory: {_size(change)}"


def _size(change: Change) -> str:
    lines = change.diff().splitlines()[2:]
    added = sum(1 for line in lines if line.startswith("-"))
    lacking = sum(1 for line in lines if line.startswith("+"))
    return f"{count(added, 'extra line')}, {lacking} missing"

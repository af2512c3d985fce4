"""The changes of a judged plan, as the one judge of approvals compares them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.approval import Impact, Item
from talops.tofu.policy import disposable
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.tofu.judge import Judged

IMPACT = {
    Effect.NOTHING: Impact.NONE,
    Effect.ONLINE: Impact.CHANGES,
    Effect.CREATES: Impact.CREATES,
    Effect.RESTARTS: Impact.RESTARTS,
    Effect.DISCONNECTS: Impact.CUTS_OFF,
    Effect.REMOVES_DISK: Impact.REMOVES_DATA,
    Effect.FORGETS: Impact.FORGETS,
    Effect.REPLACES: Impact.REPLACES,
    Effect.DESTROYS: Impact.DESTROYS,
}


def items(changes: Iterable[Judged]) -> tuple[Item, ...]:
    return tuple(
        Item(
            change.address,
            IMPACT[change.effect],
            change.name,
            change.why,
            _severe(change),
            frozenset(change.foreign),
            change.node if change.guest else "",
            disposable=disposable(change),
        )
        for change in changes
    )


def _severe(change: Judged) -> frozenset[str]:
    """Attributes whose change cuts off, detaches or destroys something."""
    return frozenset(c.attribute for c in change.causes if c.effect >= Effect.DISCONNECTS)

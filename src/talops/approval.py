"""What was approved is what is applied: every later plan is judged against the approved one. Pure.

Stages and OpenTofu describe what they change in the same way: an object, and the impact on it. The
only judge of both is `beyond`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


class Impact(IntEnum):
    """What a change does to its object; a higher value is more disruptive."""

    NONE = 0
    CHANGES = 1
    # A service of the node restarts; its pods continue.
    RESTARTS_SERVICE = 2
    CREATES = 3
    RESTARTS = 4
    CUTS_OFF = 5
    REMOVES_DATA = 6
    FORGETS = 7
    REPLACES = 8
    DESTROYS = 9

    @property
    def disruptive(self) -> bool:
        """Something in use stops, or is lost."""
        return self >= Impact.RESTARTS

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


# An approved replacement that was interrupted after the destruction only creates.
CREATING = frozenset({Impact.CREATES, Impact.REPLACES})


@dataclass(frozen=True)
class Item:
    """The impact on one object. `parts`: what it cuts off, detaches or destroys of it. `foreign`:
    disks that talops did not create and that it loses; None if they were not known yet.

    What follows is not compared. `node`: its name in the inventory. `drains`: its pods are moved
    first. `members`: how many members etcd has before, during and after. `disposable`: nothing
    runs on it, and it can be created again without loss. `scheduled`: it waits for a maintenance
    window although it stops no node.
    """

    object: str
    impact: Impact
    name: str = ""
    why: str = ""
    parts: frozenset[str] = frozenset()
    foreign: frozenset[str] | None = frozenset()
    node: str = ""
    drains: bool = False
    members: tuple[int, ...] = ()
    disposable: bool = False
    scheduled: bool = False

    @property
    def title(self) -> str:
        return self.name or self.object

    @property
    def disruptive(self) -> bool:
        return self.impact.disruptive and not self.disposable

    @property
    def waits(self) -> bool:
        """A pause and closed maintenance windows hold it back."""
        return self.disruptive or self.scheduled


@dataclass(frozen=True)
class Beyond:
    """A change that was not approved; `instead`: what was approved for the same object."""

    item: Item
    instead: Item | None

    def __str__(self) -> str:
        approved = f", not {self.instead.impact}" if self.instead else ""
        why = self.item.why or "new"
        return f"{self.item.title} would now change ({self.item.impact}{approved}: {why})"


def beyond(
    items: Iterable[Item], approved: Iterable[Item], making: Collection[str] = ()
) -> list[Beyond]:
    """A later plan may do less than the approved one, to the same objects, and nothing else.

    `making`: objects whose creation this run started; other rules judge what becomes of those.
    """
    limits = {item.object: item for item in approved}
    return [
        Beyond(item, limits.get(item.object))
        for item in items
        if item.object not in making and not _within(item, limits.get(item.object))
    ]


def _within(item: Item, limit: Item | None) -> bool:
    if limit is None or item.impact > limit.impact:
        return False
    if item.impact is Impact.CREATES and limit.impact not in CREATING:
        return False  # what was to be changed does not exist any more
    worst = limit.impact >= Impact.REPLACES  # nothing more can be taken from the same object
    foreign = limit.foreign is None or {*(item.foreign or ())} <= limit.foreign
    return (worst or item.parts <= limit.parts) and foreign


def digest(items: Sequence[Item]) -> str:
    """The same for the same items in any order, on every machine."""
    rows = sorted(json.dumps(as_dict(item), sort_keys=True) for item in items)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def as_dict(item: Item) -> dict[str, object]:
    """What is compared: the rest can differ between two plans with the same effect."""
    return {
        "object": item.object,
        "impact": str(item.impact),
        "name": item.name,
        "why": item.why,
        "parts": sorted(item.parts),
        "foreign": None if item.foreign is None else sorted(item.foreign),
    }


def shown(item: Item) -> dict[str, Any]:
    """What a plan says about the object."""
    return {
        "object": item.object,
        "name": item.title,
        "impact": str(item.impact),
        "why": item.why,
        "node": item.node or None,
        "disruptive": item.disruptive,
        "waits_for_window": item.waits,
        "drains": item.drains,
        "etcd_members": list(item.members),
    }

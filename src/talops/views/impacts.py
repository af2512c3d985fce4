"""The wording of what a plan does to each object, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.approval import Impact
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from talops.events import PlannedChange

TO_DO = {
    Impact.NONE: "without effect",
    Impact.CHANGES: "to change",
    Impact.RESTARTS_SERVICE: "to restart a service",
    Impact.CREATES: "to create",
    Impact.RESTARTS: "to restart",
    Impact.CUTS_OFF: "to cut off",
    Impact.REMOVES_DATA: "to remove data",
    Impact.FORGETS: "to remove from the state",
    Impact.REPLACES: "to replace",
    Impact.DESTROYS: "to destroy",
}
DOES = {
    Impact.NONE: "keep",
    Impact.CHANGES: "change",
    Impact.RESTARTS_SERVICE: "restart a service of",
    Impact.CREATES: "create",
    Impact.RESTARTS: "restart",
    Impact.CUTS_OFF: "cut off",
    Impact.REMOVES_DATA: "remove data of",
    Impact.FORGETS: "remove from the state",
    Impact.REPLACES: "replace",
    Impact.DESTROYS: "destroy",
}
_BY_WORD = {str(impact): impact for impact in Impact}
_SIGNS = {Impact.CREATES: "+", Impact.REPLACES: "±", Impact.DESTROYS: "-", Impact.FORGETS: "-"}
# Names in one line before the rest is only counted.
MOST_NAMES = 6


def impact_of(word: object) -> Impact:
    """Changes, for a word that this version does not know."""
    return _BY_WORD.get(str(word), Impact.CHANGES)


def sign(impact: Impact) -> str:
    return _SIGNS.get(impact, "!" if impact.disruptive else "~")


def tally(impacts: Iterable[Impact]) -> str:
    """Such as: 3 to create, 1 to restart; the most disruptive first."""
    counts: dict[Impact, int] = {}
    for impact in impacts:
        counts[impact] = counts.get(impact, 0) + 1
    return ", ".join(f"{counts[i]} {TO_DO[i]}" for i in sorted(counts, reverse=True))


def impacts_of(change: PlannedChange) -> list[Impact]:
    """One per object; of the change itself if its objects are not known yet."""
    return [impact_of(i["impact"]) for i in change.items] or [impact_of(change.impact)]


def amount(changes: Sequence[PlannedChange]) -> str:
    """How many objects change, and how, unless all are changed in place."""
    impacts = [impact for change in changes for impact in impacts_of(change)]
    number = count(len(impacts), "change")
    if all(impact in {Impact.NONE, Impact.CHANGES} for impact in impacts):
        return number
    return f"{number}: {tally(impacts)}"


def item_lines(change: PlannedChange) -> Iterator[str]:
    """One line per object, unless the change itself says all of it."""
    if [item["name"] for item in change.items] == [change.target]:
        if more := "; ".join(costs(change.items[0])):
            yield more
        return
    for item in change.items:
        impact = impact_of(item["impact"])
        more = "; ".join(filter(None, [str(item.get("why") or ""), *costs(item)]))
        yield f"{sign(impact)} {DOES[impact]} {item['name']}" + (f"  ({more})" if more else "")


def costs(item: Mapping[str, Any]) -> Iterator[str]:
    """What it means for the pods and for etcd."""
    if item.get("drains"):
        yield "drained first"
    if members := item.get("etcd_members"):
        yield f"etcd members {' → '.join(map(str, members))}"


def disruptions(items: Iterable[Mapping[str, Any]]) -> str:
    """A sentence with the names of what stops, or is lost; empty if nothing is."""
    by_impact: dict[Impact, list[str]] = {}
    for item in items:
        if item.get("disruptive"):
            names = by_impact.setdefault(impact_of(item["impact"]), [])
            name = str(item.get("node") or item["name"])
            names += [name] if name not in names else []
    parts = [f"{impact} {_names(by_impact[impact])}" for impact in sorted(by_impact, reverse=True)]
    return "; ".join(parts)


def _names(found: Sequence[str]) -> str:
    shown = ", ".join(found[:MOST_NAMES])
    left = len(found) - MOST_NAMES
    return f"{shown} and {left} more" if left > 0 else shown

"""Differences between the inventory and what runs, by layer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from talops.app.drift.model import AreaDrift, Difference
    from talops.web.watching.panel import Panel


def drift(cluster: str, panel: Panel, since: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """`since`: difference → when this server saw it for the first time."""
    areas: list[AreaDrift] = panel.value or []
    return {
        "version": VERSION,
        "cluster": cluster,
        "differences": sum(len(area.differences) for area in areas),
        "fixable": sum(each.safe for area in areas for each in area.differences),
        "layers": [_area(area, since) for area in areas],
        "ages": [age_of(panel, now)],
        "time": stamp(now),
    }


def _area(area: AreaDrift, since: Mapping[str, str]) -> dict[str, Any]:
    found = area.as_dict()
    rows = zip(found["differences"], area.differences, strict=True)
    return {**found, "differences": [{**row, "since": since.get(name_of(d))} for row, d in rows]}


def name_of(found: Difference) -> str:
    """The same difference in the next look has the same name."""
    return f"{found.layer}\0{found.target}\0{found.attribute}\0{found.wanted}"

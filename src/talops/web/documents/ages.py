"""How old a panel is, and what of it does not answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from talops.web.watching.panel import Panel, Silence


TITLES = {
    "status": "checks",
    "world": "nodes and hosts",
    "drift": "drift",
    "versions": "versions",
    "credentials": "certificates",
}


def age_of(panel: Panel, now: datetime) -> dict[str, Any]:
    """`looked`: when the values were read; null before the first look that succeeded."""
    return {
        "panel": panel.name,
        "title": TITLES.get(panel.name, panel.name),
        "every": panel.every,
        "looked": stamp(panel.looked),
        "tried": stamp(panel.tried),
        "looking": panel.looking,
        "stale": panel.stale(now),
        "error": _silence(panel.error) if panel.error else None,
        "silent": [{"part": part, **_silence(each)} for part, each in panel.silent.items()],
    }


def _silence(silence: Silence) -> dict[str, Any]:
    return {**silence.error.as_dict(), "since": stamp(silence.since)}


def stamp(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at else None

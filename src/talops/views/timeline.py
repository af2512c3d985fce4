"""When each stage of a run started and ended, as a share of the time of the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from talops.events import StageFinished, StageStarted
from talops.views.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.events import Event

# Distances of two marks on the axis, in seconds.
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
MOST_MARKS = 6


@dataclass(frozen=True)
class Span:
    """Start and length in percent of the run, and where in the run it started."""

    left: float
    width: float
    after: str


@dataclass(frozen=True)
class Mark:
    left: float
    label: str


def spans(events: Sequence[tuple[str, Event]]) -> dict[str, Span]:
    """Stage → its span; one that did not finish lasts until the last event."""
    times = [(_seconds(stamp), event) for stamp, event in events if stamp]
    if not times:
        return {}
    first, last = times[0][0], times[-1][0]
    begun = {event.stage: at for at, event in times if isinstance(event, StageStarted)}
    ended = {event.stage: at for at, event in times if isinstance(event, StageFinished)}
    whole = max(last - first, 0.001)
    return {
        stage: Span(
            round(100 * (at - first) / whole, 1),
            round(100 * max(ended.get(stage, last) - at, 0) / whole, 1),
            duration(at - first),
        )
        for stage, at in begun.items()
    }


def marks(events: Sequence[tuple[str, Event]]) -> list[Mark]:
    """The axis: round times, few enough that their labels do not overlap."""
    times = [_seconds(stamp) for stamp, _ in events if stamp]
    return axis(times[-1] - times[0] if times else 0.0)


def axis(whole: float) -> list[Mark]:
    """Of a run of so many seconds."""
    step = next((step for step in STEPS if whole / step < MOST_MARKS), STEPS[-1])
    if whole < step:
        return []
    return [
        Mark(round(100 * at / whole, 1), duration(at) if at else "0s")
        for at in range(0, int(whole) + 1, step)
    ]


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()

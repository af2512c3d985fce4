"""How long changes took last time, from the records of earlier runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.events import ChangeFinished, PlannedChange
from talops.pipeline.history import list_runs, read_events
from talops.pipeline.result import StageStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from talops.events import Event
    from talops.pipeline.history import PastRun

# Runs with changes that are read at most, newest first.
RUNS = 5


@dataclass(frozen=True)
class Durations:
    """Seconds of the newest change with the same target, otherwise with the same action."""

    exact: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    alike: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def of(self, change: PlannedChange) -> float | None:
        stage, action = change.stage, change.action
        known = self.exact.get((stage, action, change.target))
        return self.alike.get((stage, action)) if known is None else known


NONE = Durations()


def learned(events: Iterable[Event]) -> Durations:
    """From the events of all runs, newest run first."""
    exact: dict[tuple[str, str, str], float] = {}
    alike: dict[tuple[str, str], float] = {}
    for event in events:
        if isinstance(event, ChangeFinished):
            exact.setdefault((event.stage, event.action, event.target), event.seconds)
            alike.setdefault((event.stage, event.action), event.seconds)
    return Durations(exact, alike)


def last_durations(home: Path) -> Durations:
    """Of the newest runs that changed something; unreadable records teach nothing."""
    try:
        changed = [run for run in list_runs(home) if _changed(run)][:RUNS]
        return learned(event for run in changed for _, event in read_events(run))
    except OSError:
        return NONE


def _changed(run: PastRun) -> bool:
    return any(stage.status is StageStatus.CHANGED for stage in run.stages)

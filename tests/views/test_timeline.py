"""The axis of a run's page: where each stage lies, and which times are marked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from talops.events import Note, StageFinished, StageStarted
from talops.views.timeline import Span, marks, spans

if TYPE_CHECKING:
    from talops.events import Event

START = datetime(2026, 1, 2, 23, 59, 30, tzinfo=UTC)


def at(seconds: float, event: Event) -> tuple[str, Event]:
    return (START + timedelta(seconds=seconds)).isoformat(), event


RUN = [
    at(0, Note("a run")),
    at(10, StageStarted("images")),
    at(30, StageFinished("images", "changed")),
    at(30, StageStarted("provision")),
    at(100, Note("the last event of a killed run")),
]


def test_a_stage_has_its_place_in_the_run() -> None:
    """One that never finished lasts until the run ended."""
    assert spans(RUN) == {
        "images": Span(10, 20, "10s"),
        "provision": Span(30, 70, "30s"),
    }


def test_a_run_without_events_has_an_empty_axis() -> None:
    """A run that was killed at once left nothing to draw."""
    assert spans([]) == {}
    assert marks([]) == []
    assert marks([at(0, Note("only one"))]) == []


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.4, []),
        (4, ["0s", "1.0s", "2.0s", "3.0s", "4.0s"]),
        (100, ["0s", "30s", "1m00s", "1m30s"]),
        (3500, ["0s", "10m00s", "20m00s", "30m00s", "40m00s", "50m00s"]),
    ],
)
def test_marks_are_round_times(seconds: float, labels: list[str]) -> None:
    """At most six, so that the labels do not overlap."""
    found = marks([at(0, Note("start")), at(seconds, Note("end"))])
    assert [mark.label for mark in found] == labels
    assert all(0 <= mark.left <= 100 for mark in found)

"""The same events, as plain lines, JSON lines and a live display."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from talops.events import (
    ChangeFinished,
    ChangeStarted,
    Event,
    Log,
    NodeStatus,
    Note,
    PartProgress,
    PlanFinished,
    PlannedChange,
    RunFinished,
    RunStarted,
    StageFinished,
    StagePlanned,
    StageStarted,
    StepStarted,
    WaitProgress,
)
from talops.views.board import Board
from talops.views.choose import open_view
from talops.views.lines import JsonLines, PlainLines
from talops.views.live import LiveView
from talops.views.words import closing, duration

START: list[Event] = [
    RunStarted("r1", "up", "demo", ("provision", "bootstrap"), changed_files=("nodes.yaml",)),
    StepStarted("provision", "observe"),
    PlannedChange("provision", "create", "vm cp-1", "4 cores", "cp-1"),
    StagePlanned("provision", "changes", 1),
    StagePlanned("bootstrap", "unknown", 0, "provision", "no machines yet"),
    PlanFinished(1, 1),
    StageStarted("provision"),
    ChangeStarted("provision", "create", "vm cp-1", "cp-1"),
    Log("provision", "tofu says a lot"),
    ChangeFinished("provision", "create", "vm cp-1", "cp-1", 2.0),
    NodeStatus("cp-1", vm="running"),
    NodeStatus("cp-1", talos="booting"),
    WaitProgress("provision", "Talos API of cp-1", "connection refused", 1.0),
]
END: list[Event] = [
    WaitProgress("provision", "Talos API of cp-1", "connection refused", 6.0),
    StageFinished("provision", "changed", seconds=3.25, changes=1),
    StageFinished("bootstrap", "skipped", "after --until provision"),
    Note("careful", "warning", "talops check"),
    RunFinished("r1", "done", 112.4, next_commands=("kubectl get nodes",)),
]


def test_plain_lines_say_everything_once() -> None:
    """A log reads from top to bottom: plan, changes, waits with reasons, the end, what is next."""
    out = io.StringIO()
    view = PlainLines(out, clock=lambda: 0.0)
    for event in START + END:
        view(event)
    assert out.getvalue().replace("[  0.0s] ", "").splitlines() == [
        "talops up · cluster demo · run r1",
        "changed since the last run: nodes.yaml",
        "provision  1 change",
        "  + create vm cp-1  (4 cores)",
        "bootstrap  known after provision: no machines yet",
        "provision: started",
        "provision: create vm cp-1",
        "provision: create vm cp-1: done in 2.0s",
        "provision: waiting for Talos API of cp-1: connection refused",
        "provision: 1 change (3.2s)",
        "bootstrap: skipped: after --until provision (0.0s)",
        "warning: careful — talops check",
        "Finished in 1m52s: 1 change",
        "  kubectl get nodes",
    ]


def test_json_lines_are_the_events() -> None:
    """One object per event, without the lines of the logs."""
    out = io.StringIO()
    view = JsonLines(out)
    for event in START + END:
        view(event)
    kinds = [json.loads(line)["kind"] for line in out.getvalue().splitlines()]
    assert kinds == [e.kind for e in START + END if not isinstance(e, Log)]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_live_display_shows_stages_nodes_and_waits(encoding: str) -> None:
    """While running: every stage, the node's three states, and the last reason; on any terminal."""
    raw = io.BytesIO()
    text = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=text, width=100, force_terminal=True, legacy_windows=False)
    view = LiveView(console)
    for event in START:
        view(event)
    console.print(view.draw())
    for event in END:
        view(event)
    text.flush()
    shown = raw.getvalue().decode(encoding)
    for words in ("create vm cp-1", "booting", "connection refused", "Finished in 1m52s"):
        assert words in shown


def test_a_reason_is_shown_as_long_as_it_is_true() -> None:
    """Once the stage that another one waits for is over, no line says that it waits."""
    text = io.StringIO()
    console = Console(file=text, width=100)
    view = LiveView(console)
    for event in START:
        view(event)
    console.print(view.draw())
    before = text.tell()
    view(StageFinished("provision", "changed", seconds=3.25, changes=1))
    console.print(view.draw())
    assert "no machines yet" in text.getvalue()[:before]
    assert "no machines yet" not in text.getvalue()[before:]


def test_a_wait_that_fell_silent_is_over() -> None:
    """It repeats itself while it lasts, so silence means that it ended."""
    board = Board().after(WaitProgress("s", "thing", "no", 1.0), now=100.0)
    assert [wait.name for wait in board.current_waits(101.0)] == ["thing"]
    assert board.current_waits(110.0) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (112, "1m52s"),
        (3725, "1h02m"),
    ],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    """As precise as a person needs it."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("end", "lines"),
    [
        (RunFinished("r", "unchanged", 2.0), ["Finished in 2.0s: nothing to change"]),
        (
            RunFinished("r", "failed", 2.0, {"what": "no", "where": "cp-1", "hint": "talops x"}),
            ["Failed in provision after 2.0s: no", "  at:   cp-1", "  next: talops x"],
        ),
        (
            RunFinished("r", "interrupted", 2.0, {"what": "interrupted", "hint": "again"}),
            ["Interrupted after 2.0s; run the same command again to continue"],
        ),
        (RunFinished("r", "declined", 2.0), ["Declined; nothing was changed"]),
        (
            RunFinished("r", "differences", 2.0),
            ["Planned in 2.0s: 1 change to apply, 1 stage known after apply"],
        ),
    ],
)
def test_every_end_has_its_words(end: RunFinished, lines: list[str]) -> None:
    """The last lines say how it ended and what to do."""
    board = Board()
    for event in [*START, StageFinished("provision", "failed", "no"), end]:
        board = board.after(event, 0.0)
    assert list(closing(board)) == lines


@pytest.mark.parametrize(("as_json", "kind"), [(True, JsonLines), (False, PlainLines)])
def test_no_terminal_gets_lines(as_json: bool, kind: type) -> None:
    """Pipes and CI never get control sequences."""
    with open_view(json=as_json, out=io.StringIO(), err=io.StringIO()) as view:
        assert isinstance(view, kind)


PARTS: list[Event] = [
    *START[:8],
    PartProgress("provision", "VM cp-1", "creating", "start"),
    PartProgress("provision", "VM cp-2", "creating", "start"),
    PartProgress("provision", "VM cp-2", "creating", "progress", 10.0),
    PartProgress("provision", "VM cp-1", "creating", "done", 3.0),
]


def test_the_parts_of_a_change_are_shown_while_they_last() -> None:
    """Live: what is in progress and how many are done; in a log: what is over."""
    board = Board()
    for now, event in enumerate(PARTS):
        board = board.after(event, float(now))
    assert board.parts_done == 1
    assert {name: began for name, (_, began) in board.parts.items()} == {"VM cp-2": 9.0}
    after = board.after(StageFinished("provision", "changed"), 20.0)
    assert (after.parts, after.parts_done) == ({}, 0)

    view = LiveView(Console(file=io.StringIO(), width=100, force_terminal=True))
    for event in PARTS:
        view(event)
    with view.console.capture() as shown:
        view.console.print(view.draw())
    assert "create vm cp-1: 1 done" in shown.get()
    assert "creating VM cp-2" in shown.get()
    assert "creating VM cp-1" not in shown.get()

    out = io.StringIO()
    lines = PlainLines(out, clock=lambda: 0.0)
    for event in PARTS:
        lines(event)
    assert out.getvalue().splitlines()[-1] == ("[  0.0s] provision: creating VM cp-1: done in 3.0s")

"""One run as a self-contained HTML page: stages, changes, nodes, warnings and record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from talops.events import (
    Artifact,
    ChangeFinished,
    NodeStatus,
    Note,
    RunFinished,
    WaitProgress,
)
from talops.pipeline.history import read_events
from talops.pipeline.result import RunStatus, StageStatus
from talops.views.board import Board
from talops.views.lines import EventText
from talops.views.timeline import Mark, Span, marks, spans
from talops.views.words import duration, headline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Template

    from talops.events import Event
    from talops.pipeline.history import PastRun

Timed = tuple[str, "Event"]
BAD = {StageStatus.FAILED, StageStatus.INTERRUPTED, "killed"}
GOOD = {StageStatus.UNCHANGED, StageStatus.CHANGED, RunStatus.DONE}
NOWHERE = Span(0, 0, "")


@dataclass(frozen=True)
class Page:
    """The values that the template shows; the template itself has no logic."""

    title: str
    verdict: str
    tone: str
    facts: dict[str, str]
    error: dict[str, str | None] | None
    stages: list[dict[str, Any]]
    axis: list[Mark]
    changes: list[dict[str, str]]
    nodes: list[NodeStatus]
    notes: list[Note]
    waits: list[dict[str, str]]
    artifacts: list[str]
    lines: list[tuple[str, str]]
    next_commands: tuple[str, ...]


def report_html(run: PastRun) -> str:
    """The record was masked when it was written; the page contains nothing else."""
    return _template().render(page=page_of(run, list(read_events(run))))


def page_of(run: PastRun, events: list[Timed]) -> Page:
    board = Board()
    for _, event in events:
        board = board.after(event, 0.0)
    end = next((e for _, e in reversed(events) if isinstance(e, RunFinished)), None)
    return Page(
        title=headline(board.started) if board.started else f"talops {run.info.command}",
        verdict=run.status,
        tone=_tone(run.status),
        facts=_facts(run),
        error=run.error,
        stages=_stages(run, spans(events)),
        axis=marks(events),
        changes=_changes(event for _, event in events),
        nodes=sorted(board.nodes.values(), key=lambda node: node.node),
        notes=[event for _, event in events if isinstance(event, Note)],
        waits=_waits(event for _, event in events),
        artifacts=[event.path for _, event in events if isinstance(event, Artifact)],
        lines=_lines(events),
        next_commands=end.next_commands if end else (),
    )


def _facts(run: PastRun) -> dict[str, str]:
    info = run.info
    facts = {"run": info.id, "cluster": info.cluster, "started": info.started}
    facts["ended"] = run.ended or "-"
    facts["took"] = duration(run.seconds) if run.seconds is not None else "-"
    facts["talops"] = info.talops
    facts |= dict(info.tools)
    return facts | {name: f"sha256:{digest[:16]}" for name, digest in info.inventory.items()}


def _tone(status: str) -> str:
    """The colour of a result: what did not happen is neither good nor bad."""
    return "bad" if status in BAD else "good" if status in GOOD else "soft"


def _stages(run: PastRun, known: dict[str, Span]) -> list[dict[str, Any]]:
    return [
        {
            "name": stage.stage,
            "status": str(stage.status),
            "tone": _tone(stage.status),
            "reason": stage.reason,
            "took": duration(stage.seconds) if stage.stage in known else "-",
            "span": known.get(stage.stage, NOWHERE),
            "changes": stage.changes,
        }
        for stage in run.stages
    ]


def _changes(events: Iterable[Event]) -> list[dict[str, str]]:
    return [
        {
            "stage": event.stage,
            "what": f"{event.action} {event.target}",
            "node": event.node or "",
            "took": duration(event.seconds),
        }
        for event in events
        if isinstance(event, ChangeFinished)
    ]


def _waits(events: Iterable[Event]) -> list[dict[str, str]]:
    """The longest duration of each wait, with its last reason."""
    last: dict[tuple[str, str | None], WaitProgress] = {}
    for event in events:
        if isinstance(event, WaitProgress):
            last[event.name, event.node] = event
    ordered = sorted(last.values(), key=lambda wait: -wait.seconds)
    return [
        {"stage": w.stage, "name": w.name, "reason": w.reason, "took": duration(w.seconds)}
        for w in ordered
    ]


def _lines(events: list[Timed]) -> list[tuple[str, str]]:
    text = EventText()
    return [(stamp[11:19], line) for stamp, event in events for line in text.tell(event)]


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("talops.views", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")

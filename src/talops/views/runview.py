"""A run as a picture: stages and nodes over time, waits, plan and record. Pure.

The same view is shown live by the page, and frozen in report.html.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from talops.events import (
    Artifact,
    ChangeFinished,
    ChangeStarted,
    NodeStatus,
    Note,
    PlannedChange,
    RunFinished,
    StageFinished,
    StageStarted,
    WaitProgress,
)
from talops.pipeline.result import RunStatus, StageStatus
from talops.views.board import Board
from talops.views.impacts import impact_of, item_lines
from talops.views.lines import EventText
from talops.views.timeline import Mark, axis
from talops.views.words import SIGNS, duration, headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.events import Event
    from talops.pipeline.history import PastRun

Timed = tuple[str, "Event"]
BAD = {StageStatus.FAILED, StageStatus.INTERRUPTED, "killed"}
GOOD = {StageStatus.UNCHANGED, StageStatus.CHANGED, RunStatus.DONE}
BUSY = {"running"}
LONGEST_LINE = 400


@dataclass(frozen=True)
class Most:
    """The record of a run has no limit; a page does. The rest is in the files of the run."""

    lines: int
    changes: int
    waits: int


IN_REPORT, ON_PAGE = Most(2000, 1000, 60), Most(300, 100, 20)


def tone_of(status: str) -> str:
    """What did not happen is neither good nor bad."""
    for tone, of in (("bad", BAD), ("good", GOOD), ("busy", BUSY)):
        if status in of:
            return tone
    return "soft"


@dataclass(frozen=True)
class Bar:
    """Where it begins and how long it is, in percent of the run."""

    left: float
    width: float
    tone: str
    label: str


@dataclass(frozen=True)
class StageLine:
    """`bar` is None for a stage that was not reached."""

    name: str
    status: str
    tone: str
    reason: str
    took: str
    bar: Bar | None
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Lane:
    """One node: the changes that were made to it, and what it was waited for."""

    node: str
    bars: tuple[Bar, ...]
    vm: str = ""
    talos: str = ""
    kubernetes: str = ""


@dataclass(frozen=True)
class WaitLine:
    """`current`: the run waits for it now."""

    stage: str
    name: str
    node: str
    reason: str
    took: str
    current: bool = False


@dataclass(frozen=True)
class PlanLine:
    stage: str
    sign: str
    what: str
    why: str
    impact: str
    disruptive: bool
    objects: tuple[str, ...]
    refused: str = ""


@dataclass(frozen=True)
class RunView:
    """The templates show these values; they have no logic of their own."""

    id: str
    title: str
    command: str
    cluster: str
    status: str
    tone: str
    started: datetime
    ended: datetime | None
    took: str
    facts: dict[str, str]
    error: dict[str, str | None] | None
    stages: tuple[StageLine, ...]
    lanes: tuple[Lane, ...]
    axis: tuple[Mark, ...]
    waits: tuple[WaitLine, ...]
    plan: tuple[PlanLine, ...]
    changes: tuple[dict[str, str], ...]
    notes: tuple[Note, ...]
    artifacts: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    # What is left out because the page would be too long.
    left_out: dict[str, int]
    next_commands: tuple[str, ...]

    @property
    def live(self) -> bool:
        return self.status in BUSY


@dataclass(frozen=True)
class _Clock:
    """Times of a run as percent of it."""

    first: float
    last: float

    def bar(self, start: float, end: float, tone: str, label: str) -> Bar:
        whole = max(self.last - self.first, 0.001)
        left = round(100 * (start - self.first) / whole, 2)
        return Bar(left, round(100 * max(end - start, 0) / whole, 2), tone, label)


def run_view(
    run: PastRun, events: Sequence[Timed], now: float | None = None, most: Most = IN_REPORT
) -> RunView:
    """`now`: the present time of a run that is still in progress."""
    board = Board()
    for _, event in events:
        board = board.after(event, 0.0)
    times = _timed(events)
    last = times[-1][0] if times else 0.0
    live = run.status in BUSY
    clock = _Clock(times[0][0] if times else 0.0, max(last, now or 0.0) if live else last)
    end = next((e for _, e in reversed(events) if isinstance(e, RunFinished)), None)
    changes = _changes(event for _, event in events)
    waits = _waits(times, clock.last if live else None)
    lines = _lines(events)
    plan = tuple(_plan(e for _, e in events if isinstance(e, PlannedChange)))
    return RunView(
        id=run.info.id,
        title=headline(board.started) if board.started else f"talops {run.info.command}",
        command=run.info.command,
        cluster=run.info.cluster,
        status=run.status,
        tone=tone_of(run.status),
        started=datetime.fromisoformat(run.info.started),
        ended=datetime.fromisoformat(run.ended) if run.ended else None,
        took=_took(run, clock, live=live),
        facts=_facts(run),
        error=run.error,
        stages=tuple(_stages(run, board, times, clock)),
        lanes=tuple(_lanes(board, times, clock, live=live)),
        axis=tuple(axis(clock.last - clock.first)),
        waits=waits[: most.waits],
        plan=plan[: most.changes],
        changes=changes[: most.changes],
        notes=tuple(event for _, event in events if isinstance(event, Note))[: most.changes],
        artifacts=tuple(event.path for _, event in events if isinstance(event, Artifact)),
        lines=lines[-most.lines :],
        left_out={
            "lines": max(len(lines) - most.lines, 0),
            "changes": max(len(changes) - most.changes, 0),
            "plan": max(len(plan) - most.changes, 0),
            "waits": max(len(waits) - most.waits, 0),
        },
        next_commands=end.next_commands if end else (),
    )


def _timed(events: Sequence[Timed]) -> list[tuple[float, Event]]:
    """In the order of their times; an event of a damaged record may not have one."""
    found = []
    for stamp, event in events:
        with contextlib.suppress(ValueError):
            found.append((datetime.fromisoformat(stamp).timestamp(), event))
    return sorted(found, key=lambda each: each[0])


def _took(run: PastRun, clock: _Clock, *, live: bool) -> str:
    if run.seconds is not None:
        return duration(run.seconds)
    return duration(clock.last - clock.first) if live else "-"


def _facts(run: PastRun) -> dict[str, str]:
    info = run.info
    facts = {"run": info.id, "cluster": info.cluster, "talops": info.talops, **info.tools}
    return facts | {name: f"sha256:{digest[:16]}" for name, digest in info.inventory.items()}


def _stages(
    run: PastRun, board: Board, times: Sequence[tuple[float, Event]], clock: _Clock
) -> Iterable[StageLine]:
    """Of the result; before there is one, of the events."""
    begun = {event.stage: at for at, event in times if isinstance(event, StageStarted)}
    ended = {event.stage: at for at, event in times if isinstance(event, StageFinished)}
    results = {stage.stage: stage for stage in run.stages}
    for name in [*results, *(each for each in board.stages if each not in results)]:
        row, result = board.stages.get(name), results.get(name)
        state = str(result.status) if result else (row.state if row else "pending")
        if state in {"pending", "running"} and run.status not in BUSY:
            state = "interrupted" if state == "running" else str(StageStatus.NOT_REACHED)
        bar = None
        if name in begun:
            until = ended.get(name, clock.last)
            after = duration(begun[name] - clock.first)
            bar = clock.bar(begun[name], until, tone_of(state), f"{name} started after {after}")
        took = ended.get(name, clock.last) - begun[name] if name in begun else 0.0
        yield StageLine(
            name,
            state,
            tone_of(state),
            (result.reason if result else (row.doing or row.reason if row else "")),
            duration(took) if bar else "-",
            bar,
            result.changes if result else (),
        )


def _lanes(
    board: Board, times: Sequence[tuple[float, Event]], clock: _Clock, *, live: bool
) -> Iterable[Lane]:
    found: dict[str, list[Bar]] = {name: [] for name in sorted(board.nodes)}
    open_: dict[tuple[str, str, str], float] = {}
    waits: dict[tuple[str, str, str], tuple[float, float, WaitProgress]] = {}
    for at, event in times:
        if isinstance(event, ChangeStarted) and event.node:
            open_[event.stage, event.target, event.node] = at
        elif isinstance(event, ChangeFinished) and event.node:
            start = open_.pop((event.stage, event.target, event.node), at - event.seconds)
            label = f"{event.stage}: {event.action} {event.target}, {duration(at - start)}"
            found.setdefault(event.node, []).append(clock.bar(start, at, "good", label))
        elif isinstance(event, WaitProgress) and event.node:
            key = (event.node, event.stage, event.name)
            start, _, _ = waits.get(key, (at - event.seconds, at, event))
            waits[key] = (min(start, at - event.seconds), at, event)
    for (node, _, name), (start, until, wait) in waits.items():
        label = f"{wait.stage}: waited {duration(until - start)} for {name}: {wait.reason}"
        found.setdefault(node, []).append(clock.bar(start, until, "wait", _short(label)))
    for (stage, target, node), start in open_.items():
        tone = "busy" if live else "bad"
        label = f"{stage}: {target}, not finished"
        found.setdefault(node, []).append(clock.bar(start, clock.last, tone, label))
    for node, bars in found.items():
        known = board.nodes.get(node) or NodeStatus(node)
        ordered = tuple(sorted(bars, key=lambda bar: (bar.tone != "wait", bar.left)))
        yield Lane(node, ordered, known.vm or "", known.talos or "", known.kubernetes or "")


def _waits(times: Sequence[tuple[float, Event]], present: float | None) -> tuple[WaitLine, ...]:
    """Each with its last reason: those in progress first, then the longest."""
    last: dict[tuple[str, str | None], tuple[float, WaitProgress]] = {}
    over: set[tuple[str, str | None]] = set()
    for at, event in times:
        if isinstance(event, WaitProgress):
            last[event.name, event.node] = (at, event)
            over.discard((event.name, event.node))
        elif isinstance(event, StageFinished):
            over |= {key for key, (_, wait) in last.items() if wait.stage == event.stage}
    rows = [
        (
            present is not None and key not in over and present - at < _FADES,
            wait,
        )
        for key, (at, wait) in last.items()
    ]
    rows.sort(key=lambda row: (not row[0], -row[1].seconds))
    return tuple(
        WaitLine(w.stage, w.name, w.node or "", _short(w.reason), duration(w.seconds), current)
        for current, w in rows
    )


# A wait reports every few seconds; the record may be read a little later.
_FADES = 12.0


def _plan(changes: Iterable[PlannedChange]) -> Iterable[PlanLine]:
    for change in changes:
        impact = impact_of(change.impact) if change.impact else None
        refused = str((change.refused or {}).get("what") or "")
        yield PlanLine(
            change.stage,
            SIGNS.get(change.action, "*"),
            f"{change.action} {change.target}",
            _short(change.detail),
            str(impact) if impact is not None else "",
            bool(impact and impact.disruptive) or any(i.get("disruptive") for i in change.items),
            tuple(_short(line) for line in item_lines(change)),
            _short(refused),
        )


def _changes(events: Iterable[Event]) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "stage": event.stage,
            "what": _short(f"{event.action} {event.target}"),
            "node": event.node or "",
            "took": duration(event.seconds),
        }
        for event in events
        if isinstance(event, ChangeFinished)
    )


def _lines(events: Sequence[Timed]) -> tuple[tuple[str, str], ...]:
    text = EventText()
    return tuple(
        (stamp[11:19], _short(line)) for stamp, event in events for line in text.tell(event)
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"

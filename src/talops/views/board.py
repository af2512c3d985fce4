"""The current state of a run: all events so far, folded into one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import TYPE_CHECKING

from talops.events import (
    ChangeStarted,
    Event,
    NodeStatus,
    PartProgress,
    PlannedChange,
    RunFinished,
    RunStarted,
    StageFinished,
    StagePlanned,
    StageStarted,
    StepStarted,
    WaitProgress,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

# A wait reports at least every 5 s; after a longer silence it is over.
WAIT_FADES = 7.0


@dataclass(frozen=True)
class Wait:
    """A condition that was not met at the time `seen`."""

    name: str
    reason: str
    seconds: float
    seen: float
    node: str | None = None


@dataclass(frozen=True)
class StageRow:
    """One stage: `state` is pending, running, or the status it finished with."""

    name: str
    state: str = "pending"
    doing: str = ""
    reason: str = ""
    started: float | None = None
    seconds: float = 0.0
    changes: int = 0
    planned: tuple[PlannedChange, ...] = ()
    outlook: StagePlanned | None = None

    @property
    def over(self) -> bool:
        return self.state not in {"pending", "running"}

    def elapsed(self, now: float) -> float:
        return now - self.started if self.started is not None else self.seconds


@dataclass(frozen=True)
class Board:
    """The state of the whole run; `after` returns the next state."""

    started: RunStarted | None = None
    finished: RunFinished | None = None
    stages: Mapping[str, StageRow] = field(default_factory=dict)
    nodes: Mapping[str, NodeStatus] = field(default_factory=dict)
    waits: Mapping[tuple[str, str | None], Wait] = field(default_factory=dict)
    # Parts in progress, with their start time.
    parts: Mapping[str, tuple[PartProgress, float]] = field(default_factory=dict)
    parts_done: int = 0

    def after(self, event: Event, now: float) -> Board:
        return _after(event, self, now)

    def current_waits(self, now: float) -> list[Wait]:
        return [wait for wait in self.waits.values() if now - wait.seen < WAIT_FADES]

    def with_stage(self, name: str, **changes: object) -> Board:
        row = self.stages.get(name, StageRow(name))
        return replace(self, stages={**self.stages, name: replace(row, **changes)})  # type: ignore[arg-type]  # keyword names are fixed below


@singledispatch
def _after(_event: Event, board: Board, _now: float) -> Board:
    """Events that do not change the state."""
    return board


@_after.register
def _(event: RunStarted, board: Board, _now: float) -> Board:
    return replace(board, started=event, stages={name: StageRow(name) for name in event.stages})


@_after.register
def _(event: PlannedChange, board: Board, _now: float) -> Board:
    row = board.stages.get(event.stage, StageRow(event.stage))
    return board.with_stage(event.stage, planned=(*row.planned, event))


@_after.register
def _(event: StagePlanned, board: Board, _now: float) -> Board:
    return board.with_stage(event.stage, outlook=event)


@_after.register
def _(event: StageStarted, board: Board, now: float) -> Board:
    return board.with_stage(event.stage, state="running", started=now)


@_after.register
def _(event: StepStarted, board: Board, _now: float) -> Board:
    doing = {"observe": "looking", "apply": "applying", "verify": "verifying"}.get(event.step, "")
    board = replace(board, waits={})
    return board.with_stage(event.stage, doing=doing)


@_after.register
def _(event: PartProgress, board: Board, now: float) -> Board:
    others = {name: part for name, part in board.parts.items() if name != event.part}
    if event.phase in {"done", "failed"}:
        done = board.parts_done + (event.phase == "done")
        return replace(board, parts=others, parts_done=done)
    _, began = board.parts.get(event.part, (event, now - event.seconds))
    return replace(board, parts={**board.parts, event.part: (event, began)})


@_after.register
def _(event: ChangeStarted, board: Board, _now: float) -> Board:
    board = replace(board, parts={}, parts_done=0)
    return board.with_stage(event.stage, doing=f"{event.action} {event.target}")


@_after.register
def _(event: WaitProgress, board: Board, now: float) -> Board:
    wait = Wait(event.name, event.reason, event.seconds, now, event.node)
    return replace(board, waits={**board.waits, (event.name, event.node): wait})


@_after.register
def _(event: NodeStatus, board: Board, _now: float) -> Board:
    known = board.nodes.get(event.node, NodeStatus(event.node))
    merged = NodeStatus(
        event.node,
        event.vm or known.vm,
        event.talos or known.talos,
        event.kubernetes or known.kubernetes,
    )
    return replace(board, nodes={**board.nodes, event.node: merged})


@_after.register
def _(event: StageFinished, board: Board, _now: float) -> Board:
    return replace(board, waits={}, parts={}, parts_done=0).with_stage(
        event.stage,
        state=event.status,
        doing="",
        reason=event.reason,
        started=None,
        seconds=event.seconds,
        changes=event.changes,
    )


@_after.register
def _(event: RunFinished, board: Board, _now: float) -> Board:
    return replace(board, finished=event, waits={})

"""One line per event: plain text for logs and pipes, JSON for programs."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, TextIO

from talops.events import (
    ChangeFinished,
    ChangeStarted,
    Event,
    Log,
    Note,
    PartProgress,
    PlanFinished,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    WaitProgress,
    to_json,
)
from talops.views.board import Board
from talops.views.words import changed_inventory, closing, duration, headline, plan_lines, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Lines:
    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Plain lines always leave the terminal free."""
        return contextlib.nullcontext()


class JsonLines(_Lines):
    """Every event as docs/events.md describes it."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Log):
            self.out.write(json.dumps(to_json(event), ensure_ascii=False) + "\n")
            self.out.flush()


class EventText:
    """The lines of text that an event adds."""

    def __init__(self) -> None:
        self.board = Board()
        self._said: dict[tuple[str, str | None], str] = {}

    def tell(self, event: Event, now: float = 0.0) -> Iterator[str]:
        self.board = self.board.after(event, now)
        match event:
            case RunStarted():
                yield headline(event)
                yield from filter(None, [changed_inventory(event)])
            case PlanFinished():
                yield from plan_lines(self.board)
            case Note():
                yield note_line(event)
            case RunFinished():
                yield from closing(self.board)
            case _:
                yield from self._work(event)

    def _work(self, event: Event) -> Iterator[str]:
        match event:
            case StageStarted():
                yield f"{event.stage}: started"
            case ChangeStarted():
                yield f"{event.stage}: {event.action} {event.target}"
            case ChangeFinished():
                took = duration(event.seconds)
                yield f"{event.stage}: {event.action} {event.target}: done in {took}"
            case PartProgress(phase="done" | "failed"):
                took = duration(event.seconds)
                yield f"{event.stage}: {event.doing} {event.part}: {event.phase} in {took}"
            case WaitProgress():
                yield from self._wait(event)
            case StageFinished():
                row = self.board.stages[event.stage]
                yield f"{event.stage}: {result_of(row)} ({duration(event.seconds)})"

    def _wait(self, event: WaitProgress) -> Iterator[str]:
        key = (event.name, event.node)
        if self._said.get(key) != event.reason:
            self._said[key] = event.reason
            yield f"{event.stage}: waiting for {event.name}: {event.reason}"


class PlainLines(_Lines):
    """The lines with the time since the start; for CI logs and pipes."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.out = out
        self.clock = clock
        self.begin = clock()
        self.text = EventText()

    def __call__(self, event: Event) -> None:
        now = self.clock()
        for line in self.text.tell(event, now):
            self.out.write(f"[{duration(now - self.begin):>6}] {line}\n")
        self.out.flush()


def note_line(event: Note) -> str:
    label = "" if event.level == "info" else f"{event.level}: "
    hint = f" — {event.hint}" if event.hint else ""
    return f"{label}{event.message}{hint}"

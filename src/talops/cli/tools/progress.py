"""Progress of an installation: bars on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from talops.toolchain.events import ToolProgress, ToolReady, ToolSkipped, ToolStarted, ToolWaiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID

    from talops.events import Emit, Event

# Often enough to show progress, rare enough for a log.
LINE_SECONDS = 10.0


@contextmanager
def progress() -> Iterator[Emit]:
    """An `emit` that shows tool events on stderr."""
    if not sys.stderr.isatty():
        yield Lines(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201  (stderr, at once)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from talops.cli.output import console

    detail = TextColumn("{task.fields[detail]}", markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), detail)
    with Progress(*columns, console=console(stderr=True)) as p:
        yield Bars(p)


class Lines:
    """A line for each start and end, and an occasional one in between."""

    def __init__(
        self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._last: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolProgress | ToolWaiting):
            now = self._clock()
            if now - self._last.setdefault(event.tool, now) < LINE_SECONDS:
                return
            self._last[event.tool] = now
        text = describe(event)
        if text:
            self._write(text)


class Bars:
    """One bar per tool."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolProgress):
            task = self._task(event.tool)
            total = event.total or None
            self._bars.update(task, completed=event.done, total=total, detail=event.detail[-60:])
        elif isinstance(event, ToolStarted):
            self._bars.update(self._task(event.tool), total=None, detail=event.step)
        elif isinstance(event, ToolReady) and event.tool in self._tasks:
            self._bars.update(self._tasks[event.tool], completed=1, total=1, detail="ready")
        elif text := describe(event):
            self._bars.console.print(text)

    def _task(self, tool: str) -> TaskID:
        if tool not in self._tasks:
            self._tasks[tool] = self._bars.add_task(tool, total=None, detail="")
        return self._tasks[tool]


def describe(event: Event) -> str:  # noqa: PLR0911  (one line of text per kind of event)
    """One plain line for a tool event; empty for others."""
    match event:
        case ToolStarted(tool, version, step):
            return f"{tool} {version}: {step} …"
        case ToolProgress(tool, "download", done, total):
            return f"{tool}: {done // 1_000_000} of {total // 1_000_000} MB"
        case ToolProgress(tool, _, done, total, detail) if total:
            return f"{tool}: {done} of {total} packages built, {detail}"
        case ToolProgress(tool, _, _, _, detail):
            return f"{tool}: {detail}"
        case ToolSkipped(tool, step, reason):
            return f"{tool}: skipped {step}: {reason}"
        case ToolWaiting(tool, seconds):
            return f"{tool}: another process is installing it, waiting for {seconds} s"
        case ToolReady(tool, version, origin, path, seconds):
            return f"{tool} {version}: ready ({origin}, {seconds:.0f} s): {path}"
    return ""

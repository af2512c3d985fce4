"""The live display: a line per stage, a table of nodes, and the current waits."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from talops.events import Event, Note, PlanFinished, RunFinished, RunStarted, StageStarted
from talops.views.board import Board, StageRow, Wait
from talops.views.lines import note_line
from talops.views.words import (
    changed_inventory,
    closing,
    duration,
    headline,
    outlook_of,
    plan_lines,
    result_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.console import RenderableType

STYLES = {
    "unchanged": "dim",
    "changed": "green",
    "skipped": "dim",
    "failed": "bold red",
    "interrupted": "yellow",
    "running": "bold",
    "pending": "dim",
}
MARKS = {
    "unchanged": "✓",
    "changed": "✓",
    "skipped": "-",
    "failed": "✗",
    "interrupted": "!",
    "pending": "·",
}
ASCII = str.maketrans("✓✗·±—→", "+x.~->")
NODE_STYLES = {"running": "green", "Ready": "green", "NotReady": "yellow"}
MOST_WAITS = 6
MOST_PARTS = 8


class LiveView:
    """Draws on the terminal while inside its `with`; permanent lines are printed above it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.board = Board()
        self.plain = not console.encoding.lower().startswith("utf")
        self.spinner = Spinner("line" if self.plain else "dots", style="cyan")
        self._live = Live(
            get_renderable=self.draw, console=console, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """While inside, the display leaves the terminal free, for example for a prompt."""
        draws = self._live.is_started
        self._live.stop()
        try:
            yield
        finally:
            if draws:
                self._live.start()

    def __call__(self, event: Event) -> None:
        self.board = self.board.after(event, time.monotonic())
        match event:
            case RunStarted():
                self._say(headline(event), "bold")
                if event.changed_files:
                    self._say(changed_inventory(event), "yellow")
            case PlanFinished():
                # The lines of the display become free for the plan, which a question may follow.
                self._live.stop()
                self._show_plan()
            case StageStarted():
                self._live.start()
            case Note():
                styles = {"warning": "yellow", "error": "red"}
                self._say(note_line(event), styles.get(event.level, ""))
            case RunFinished():
                self._end()

    def draw(self) -> RenderableType:
        now = time.monotonic()
        board = self.board
        if board.finished or not board.stages:
            return Text("")
        parts: list[RenderableType] = [self._stages(now), *self._parts(now)]
        parts += [self._wait(wait) for wait in board.current_waits(now)[-MOST_WAITS:]]
        if board.nodes:
            parts += [Text(""), self.node_table()]
        return Group(*parts)

    def node_table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for title in ("node", "VM", "Talos", "Kubernetes"):
            table.add_column(title)
        for name, node in sorted(self.board.nodes.items()):
            cells = [value or "-" for value in (node.vm, node.talos, node.kubernetes)]
            table.add_row(name, *(Text(cell, NODE_STYLES.get(cell, "")) for cell in cells))
        return table

    def _stages(self, now: float) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=1)
        table.add_column(no_wrap=True, min_width=max(map(len, self.board.stages), default=0))
        table.add_column(justify="right", no_wrap=True, min_width=6)
        table.add_column(overflow="ellipsis", no_wrap=True)
        for row in self.board.stages.values():
            style = STYLES.get(row.state, "")
            took = row.elapsed(now)
            table.add_row(
                self._mark(row),
                Text(row.name, style),
                Text(duration(took) if took else "", "dim"),
                Text(self._words(self._says(row)), style),
            )
        return table

    def _mark(self, row: StageRow) -> RenderableType:
        looking = row.state == "pending" and bool(row.doing) and row.outlook is None
        if row.state == "running" or looking:
            return self.spinner
        return Text(self._words(MARKS.get(row.state, "?")), STYLES.get(row.state, ""))

    def _says(self, row: StageRow) -> str:
        if row.state == "running":
            done = self.board.parts_done
            return f"{row.doing}: {done} done" if done else row.doing
        if row.state == "pending":
            return self._expects(row)
        return result_of(row)

    def _expects(self, row: StageRow) -> str:
        """The planned changes, until the stage has applied them."""
        if row.outlook is None:
            return row.doing
        source = self.board.stages.get(row.outlook.depends_on or "")
        return "" if source and source.over else outlook_of(row)

    def _parts(self, now: float) -> Iterator[Text]:
        under_way = list(self.board.parts.values())
        for event, began in under_way[:MOST_PARTS]:
            text = Text("   ", overflow="ellipsis", no_wrap=True)
            text.append(f"{event.doing} {event.part}", "cyan")
            yield text.append(f" {duration(now - began)}", "dim")
        if len(under_way) > MOST_PARTS:
            yield Text(f"   and {len(under_way) - MOST_PARTS} more", "dim")

    def _wait(self, wait: Wait) -> Text:
        age = duration(wait.seconds + (time.monotonic() - wait.seen))
        text = Text("   ", overflow="ellipsis", no_wrap=True)
        text.append(f"waiting {age} for {wait.name}", "cyan")
        return text.append(f": {self._words(wait.reason)}", "dim")

    def _show_plan(self) -> None:
        for line in plan_lines(self.board):
            self._say(line, "" if line.startswith(" ") else "dim")
        self._say("")

    def _end(self) -> None:
        self._live.refresh()
        if not (self.board.started and self.board.started.dry_run):
            self.console.print(self._stages(time.monotonic()))
        if self.board.nodes:
            self.console.print(Text(""), self.node_table(), sep="\n")
        self._say("")
        bad = self.board.finished is not None and self.board.finished.status == "failed"
        for number, line in enumerate(closing(self.board)):
            self._say(line, ("bold red" if bad else "bold") if number == 0 else "")

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(self._words(line), style))

    def _words(self, text: str) -> str:
        return text.translate(ASCII) if self.plain else text

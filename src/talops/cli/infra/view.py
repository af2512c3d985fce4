"""The view of an OpenTofu run: a live line per resource on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from talops.events import Note, PartProgress
from talops.tofu.events import (
    DOING,
    BatchStarted,
    ChangeSummary,
    Diagnostic,
    Interrupted,
    LayerDone,
    LayerStarted,
    PlanJudged,
    ResourceChange,
    ResourceDrifted,
    ResourceRefresh,
    Retrying,
)
from talops.views.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from talops.events import Emit, Event

COLOURS = {"online": "green", "creates": "green", "restarts": "yellow"}
COUNTED = {
    "plan": ("to create", "to change", "to destroy"),
    "done": ("created", "changed", "destroyed"),
}
_VM = re.compile(r'module\.\w+\["([^"]+)"\]\.proxmox_virtual_environment_vm\.\w+')
_KIND = re.compile(r"\bproxmox_(virtual_environment_)?(\w+)\.")
_PROVIDER = re.compile(r"\bproxmox_(virtual_environment_)?")
COLUMNS = ("effect", "name", "because of")


@contextmanager
def open_view(*, json: bool, out: TextIO, err: TextIO) -> Iterator[Emit]:
    """JSON lines go to `out` (they are the result), progress for people to `err`."""
    if json:
        from talops.views.lines import JsonLines

        yield JsonLines(out)
    elif not err.isatty():
        yield Plain(err)
    else:
        from rich.live import Live

        from talops.views.plain_console import PlainConsole

        view = Rich(PlainConsole(file=err, highlight=False, markup=False, emoji=False))
        # Live refreshes in the background, so that durations advance between two events.
        with Live(get_renderable=view.now, console=view.console, transient=True):
            yield view


class Plain:
    """Print one line per notable event."""

    def __init__(self, err: TextIO) -> None:
        self._err = err

    def __call__(self, event: Event) -> None:
        for line in lines(event):
            self._err.write(line + "\n")
        self._err.flush()


class Rich:
    """Running operations at the bottom, finished ones above."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._running: dict[str, tuple[str, float]] = {}
        self._refreshed = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, ResourceChange):
            self._change(event)
        elif isinstance(event, ResourceRefresh):
            self._refreshed += event.phase == "complete"
        elif isinstance(event, PlanJudged):
            if event.changes:
                self.console.print(table(event))
        else:
            if isinstance(event, LayerStarted):
                self._refreshed = 0
            for line in lines(event):
                self.console.print(line, markup=False)

    def _change(self, event: ResourceChange) -> None:
        if event.phase in {"start", "progress"}:
            known = self._running.get(event.address, ("", time.monotonic()))
            self._running[event.address] = (DOING.get(event.action, event.action), known[1])
            return
        self._running.pop(event.address, None)
        for line in lines(event):
            self.console.print(line.replace(event.address, short(event.address)), markup=False)

    def now(self) -> Table:
        """The running operations and their durations."""
        from rich.table import Table

        grid = Table.grid(padding=(0, 2))
        now = time.monotonic()
        for address, (doing, since) in list(self._running.items()):
            grid.add_row("…", doing, short(address), duration(now - since))
        if not self._running and self._refreshed:
            grid.add_row("…", "read", f"{self._refreshed} resources", "")
        return grid


def lines(event: Event) -> list[str]:  # noqa: C901, PLR0911, PLR0912  (one answer per kind)
    """The plain text of an event; most kinds have none."""
    match event:
        case LayerStarted(layer, step):
            return [f"{layer}: {step} …"]
        case LayerDone(layer, step, seconds):
            return [f"{layer}: {step} done in {duration(seconds)}"]
        case ResourceChange(action="read"):  # data sources: their results show in the plan
            return []
        case ResourceChange(_, address, action, "start"):
            return [f"  {DOING.get(action, action)} {address}"]
        case ResourceChange(_, address, action, "complete", seconds):
            return [f"  ✓ {action} {address} ({duration(seconds)})"]
        case ResourceChange(_, address, action, "error", seconds):
            return [f"  ✗ {action} {address} ({duration(seconds)})"]
        case ResourceDrifted(_, address, "delete"):
            return [f"  {address} was deleted outside of OpenTofu"]
        case ChangeSummary(_, operation, add, change, remove):
            words = COUNTED["plan" if operation == "plan" else "done"]
            return [f"  {operation}: {add} {words[0]}, {change} {words[1]}, {remove} {words[2]}"]
        case Diagnostic(_, severity, summary, detail, address):
            place = f" ({address})" if address else ""
            return [f"  {severity}: {summary}{place}", *_indented(detail)]
        case PlanJudged(_, changes):
            return [f"  {c['effect']:<14} {c['name']}: {because(c)}" for c in changes]
        case PartProgress(_, part, doing, "start"):
            return [f"  {doing} {part} …"]
        case BatchStarted(layer, number, total, names, reason):
            return [f"{layer}: step {number} of {total}: {', '.join(names)} ({reason})"]
        case Interrupted(layer):
            return [f"{layer}: interrupted; waiting for running operations (again: stop now)"]
        case Retrying(layer, attempt, reason):
            return [f"{layer}: retrying ({attempt}): {reason}"]
        case Note(message):
            return [f"  {message}"]
    return []


def table(event: PlanJudged) -> Table:
    """The effects of the plan, the most severe first."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=f"plan of {event.layer}", title_justify="left", box=None, pad_edge=False)
    for column in COLUMNS:
        grid.add_column(column, overflow="fold")
    for change in event.changes:
        colour = COLOURS.get(change["effect"], "red")
        grid.add_row(Text(change["effect"], style=colour), change["name"], Text(because(change)))
    return grid


def because(change: dict[str, Any]) -> str:
    """The attributes that cause the effect; for a creation, why it is new."""
    told = ", ".join(cause["change"] for cause in change["causes"])
    found = _KIND.search(change["address"])
    kind = found[2].replace("_", " ") if found else change["address"]
    return told or f"new {'VM' if kind == 'vm' else kind}"


def short(address: str) -> str:
    """`module.node["cp-1"].proxmox_virtual_environment_vm.this` → `VM cp-1`."""
    found = _VM.fullmatch(address)
    return f"VM {found[1]}" if found else _PROVIDER.sub("", address)


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines() if line.strip()]

"""The terminal as a face: a view shows events, and questions are asked below it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

import typer

from talops.approval import shown
from talops.cli.output import note
from talops.errors import TalopsError
from talops.events import RunStarted
from talops.plural import count
from talops.views.impacts import disruptions

if TYPE_CHECKING:
    from talops.events import Event
    from talops.pipeline.approving import NewPlan
    from talops.pipeline.planning import Plan
    from talops.pipeline.run import Consent
    from talops.views.choose import View

YES = {"y", "yes"}
NO = {"", "n", "no"}
ENOUGH = 4096


class Terminal:
    """The face of the command line: `view` shows a run, questions are asked below it."""

    def __init__(self, view: View) -> None:
        self._view = view
        # The id of the run, when it has begun.
        self.run = ""

    def show(self, event: Event, /) -> None:
        if isinstance(event, RunStarted):
            self.run = event.run
        self._view(event)

    def note(self, text: str, /) -> None:
        note(text)

    async def confirm(self, plan: Plan, consent: Consent, /) -> bool:
        """A yes-or-no question about the plan; to destroy something permanently, its name."""
        _require_terminal(consent.hint)
        with self._view.paused():
            if not consent.name:
                return await yes_or_no(f"{question(plan)}. Apply these changes?")
            amount = count(plan.changes, "change")
            typer.echo(f"This permanently {consent.what} ({amount}).", err=True)
            return await typed(f"Type {consent.name} to confirm: ") == consent.name

    async def confirm_changes(self, new: NewPlan, consent: Consent, /) -> bool:
        """Show what is new, then ask as for the whole plan."""
        _require_terminal(consent.hint)
        with self._view.paused():
            typer.echo(f"The plan of {new.stage} changed since you approved it:", err=True)
            for difference in new.differences:
                note(f"  {difference}")
            if not consent.name:
                return await yes_or_no("Apply these changes, too?")
            return await typed(f"Type {consent.name} to confirm: ") == consent.name


def question(plan: Plan) -> str:
    """What is asked; in a first run, most changes are only known while it runs."""
    items = [item for each in plan.stages for c in each.changes for item in c.items() or ()]
    stops = disruptions(map(shown, items))
    later = sum(1 for stage in plan.stages if stage.unknown)
    parts = [count(plan.objects, "change")]
    parts += [f"{count(later, 'stage')} planned later"] if later else []
    return ", ".join(parts) + (f"; {stops}" if stops else "")


def _require_terminal(hint: str) -> None:
    if not sys.stdin.isatty():
        raise TalopsError(
            "confirmation required, but stdin is not a terminal; use --yes", hint=hint
        )


async def yes_or_no(question: str) -> bool:
    while (answer := (await typed(f"{question} [y/N]: ")).lower()) not in YES | NO:
        typer.echo("please answer y or n", err=True)
    return answer in YES


async def typed(question: str) -> str:
    """Read one line from the terminal; Ctrl-C cancels this like any other wait.

    Not in a thread: a thread that reads from a terminal only ends with another line.
    """
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    typer.echo(question, nl=False, err=True)
    line: asyncio.Future[bytes] = loop.create_future()
    read = bytearray()

    def readable() -> None:
        piece = b""
        with contextlib.suppress(OSError):  # a closed terminal counts as no answer
            piece = os.read(terminal, ENOUGH)
        read.extend(piece)
        if (not piece or b"\n" in read) and not line.done():
            line.set_result(bytes(read))

    loop.add_reader(terminal, readable)
    try:
        answer = await line
    except asyncio.CancelledError:
        typer.echo(err=True)
        raise
    finally:
        loop.remove_reader(terminal)
    return answer.decode(errors="replace").strip()

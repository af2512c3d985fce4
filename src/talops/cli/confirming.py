"""The question before anything changes; before something goes for good its name has to be typed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

import typer

from talops.errors import TalopsError
from talops.views.words import count

if TYPE_CHECKING:
    from talops.cli.running import Confirm
    from talops.pipeline.planning import Plan
    from talops.views.choose import View

YES = {"y", "yes"}
NO = {"", "n", "no"}
ENOUGH = 4096


def agreed(yes: bool, hint: str) -> Confirm:
    """A plain yes-or-no question about the plan, unless it was answered by a flag."""

    async def confirm(plan: Plan, view: View) -> bool:
        if yes:
            return True
        _somebody_here("agree to the plan", hint)
        with view.paused():
            return await _yes_or_no(f"{_amount(plan)}. Go on?")

    return confirm


def named(name: str, what: str, hint: str, yes: bool) -> Confirm:
    """See what goes, then type the name; `hint` is the command that needs no answer."""

    async def confirm(plan: Plan, view: View) -> bool:
        if yes:
            return True
        _somebody_here("confirm", hint)
        with view.paused():
            typer.echo(f"{plan.changes} changes {what} for good.", err=True)
            return await typed(f"Type {name} to go on: ") == name

    return confirm


def _amount(plan: Plan) -> str:
    """Of a first run most is known only while it goes on."""
    later = sum(1 for stage in plan.stages if stage.unknown)
    known = count(plan.changes, "change")
    return f"{known}, {count(later, 'stage')} known later" if later else known


def _somebody_here(wanted: str, hint: str) -> None:
    if not sys.stdin.isatty():
        raise TalopsError(f"nobody is here to {wanted}", hint=hint)


async def _yes_or_no(question: str) -> bool:
    while (answer := (await typed(f"{question} [y/N]: ")).lower()) not in YES | NO:
        typer.echo("please answer y or n", err=True)
    return answer in YES


async def typed(question: str) -> str:
    """The line that a person types; a Ctrl-C meanwhile cancels this as it does any other wait.

    Not by a thread: nothing but another line ends a thread that reads from a terminal.
    """
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    typer.echo(question, nl=False, err=True)
    line: asyncio.Future[bytes] = loop.create_future()
    read = bytearray()

    def readable() -> None:
        piece = b""
        with contextlib.suppress(OSError):  # the terminal was closed: as good as no answer
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

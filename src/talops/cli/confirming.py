"""Confirmation before anything changes; to destroy something permanently, its name is typed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

import typer

from talops.errors import TalopsError
from talops.plural import count

if TYPE_CHECKING:
    from talops.cli.running import Confirm
    from talops.pipeline.planning import Plan
    from talops.views.choose import View

YES = {"y", "yes"}
NO = {"", "n", "no"}
ENOUGH = 4096


def agreed(yes: bool, hint: str) -> Confirm:
    """A yes-or-no question about the plan, unless a flag has answered it."""

    async def confirm(plan: Plan, view: View) -> bool:
        if yes:
            return True
        _require_terminal(hint)
        with view.paused():
            return await _yes_or_no(f"{_amount(plan)}. Apply these changes?")

    return confirm


def named(name: str, what: str, hint: str, yes: bool) -> Confirm:
    """Show what is destroyed, then ask for the name; `hint` is the command that does not ask."""

    async def confirm(plan: Plan, view: View) -> bool:
        if yes:
            return True
        _require_terminal(hint)
        with view.paused():
            typer.echo(f"This permanently {what} ({count(plan.changes, 'change')}).", err=True)
            return await typed(f"Type {name} to confirm: ") == name

    return confirm


def _amount(plan: Plan) -> str:
    """In a first run, most changes are only known while it runs."""
    later = sum(1 for stage in plan.stages if stage.unknown)
    known = count(plan.changes, "change")
    return f"{known}, {count(later, 'stage')} planned later" if later else known


def _require_terminal(hint: str) -> None:
    if not sys.stdin.isatty():
        raise TalopsError(
            "confirmation required, but stdin is not a terminal; use --yes", hint=hint
        )


async def _yes_or_no(question: str) -> bool:
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

"""The second step before something goes for good: its name has to be typed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.cli.running import Confirm
    from talops.pipeline.planning import Plan
    from talops.views.choose import View


def named(name: str, what: str, hint: str, yes: bool) -> Confirm:
    """See what goes, then type the name; `hint` is the command that needs no answer."""

    def ask(plan: Plan, view: View) -> bool:
        if not sys.stdin.isatty():
            raise TalopsError("nobody is here to confirm", hint=hint)
        with view.paused():
            typer.echo(f"{plan.changes} changes {what} for good.", err=True)
            return bool(typer.prompt(f"Type {name} to go on", default="", err=True) == name)

    async def confirm(plan: Plan, view: View) -> bool:
        return yes or await asyncio.to_thread(ask, plan, view)

    return confirm

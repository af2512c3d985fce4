"""talops plan: what `up` would do, in the order in which it would do it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from typing import TYPE_CHECKING

import typer

from talops.cli.options import (
    AllowDestroy,
    AllowDisconnect,
    AllowReplace,
    AllowUnhealthyEtcd,
    Directory,
    Format,
    Output,
    allowing,
)
from talops.cli.output import print_json

if TYPE_CHECKING:
    from talops.events import Event
    from talops.pipeline.result import RunResult
    from talops.site.site import Site
    from talops.tofu.policy import Policy
    from talops.views.board import Board
    from talops.views.choose import View
    from talops.views.plan import Condition

WIDEST = 100


def register(root: typer.Typer) -> None:
    root.command("plan")(plan)


def plan(
    directory: Directory = None,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    allow_disconnect: AllowDisconnect = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    output: Output = Format.TEXT,
) -> None:
    """Show what up would do, in order, with its costs; exit 2 on differences."""
    from talops.cli.opening import site_of
    from talops.views.plan import as_data, plan_text, report_of

    assert directory is not None
    policy = allowing(allow_replace, allow_destroy, allow_disconnect, allow_unhealthy_etcd)
    site = site_of(directory)
    result, board, conditions = asyncio.run(_planned(site, policy))
    if result.error:
        raise result.error
    report = report_of(board, conditions)
    if output is Format.JSON:
        print_json(as_data(report))
    else:
        width = min(shutil.get_terminal_size().columns, WIDEST)
        typer.echo("\n".join(plan_text(report, width)))
    raise typer.Exit(result.exit_code)


class _Quiet:
    """Shows progress, and keeps the plan for the result."""

    def __init__(self, view: View) -> None:
        from talops.views.board import Board

        self._view = view
        self.board: Board = Board()

    def __call__(self, event: Event) -> None:
        from talops.events import PlanFinished, RunFinished

        self.board = self.board.after(event, 0.0)
        if not isinstance(event, PlanFinished | RunFinished):
            self._view(event)

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return self._view.paused()


async def _planned(site: Site, policy: Policy) -> tuple[RunResult, Board, list[Condition]]:
    from talops.app import runs
    from talops.app.conditions import conditions_of
    from talops.app.running import execute
    from talops.cli.terminal import Terminal
    from talops.pipeline.interrupt import Interruption
    from talops.views.choose import open_view

    interruption = Interruption()
    with (
        open_view(json=False, out=sys.stdout, err=sys.stderr) as view,
        interruption.on_signals(),
    ):
        quiet = _Quiet(view)
        result = await execute(site, runs.plan(site, policy), Terminal(quiet), interruption)
        return result, quiet.board, await conditions_of(site, quiet.board)

"""Run a workflow in a terminal: view, signals and exit code."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from talops.cli.options import Format
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.pipeline.result import RunResult
    from talops.pipeline.run import Run
    from talops.site.site import Site


def run_and_exit(site: Site, run: Run, output: Format = Format.TEXT) -> NoReturn:
    """End the command with the exit code of the run; the view has shown the result."""
    raise typer.Exit(asyncio.run(in_terminal(site, run, output)).exit_code)


async def in_terminal(site: Site, run: Run, output: Format = Format.TEXT) -> RunResult:
    from talops.app.running import execute
    from talops.cli.terminal import Terminal
    from talops.pipeline.interrupt import Interruption
    from talops.views.choose import open_view

    interruption = Interruption()
    opened = open_view(json=output is Format.JSON, out=sys.stdout, err=sys.stderr)
    with opened as view, interruption.on_signals():
        terminal = Terminal(view)
        result = await execute(site, run, terminal, interruption)
    report = Path(".talops/runs", terminal.run, "report.html")
    if terminal.run and not run.options.dry_run and (site.root / report).is_file():
        note(f"report: {report}")
    return result

"""Run a workflow: view, signals, record, and the confirmation before anything changes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from talops.cli.options import Format
from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.events import Event
    from talops.pipeline.lock import SharedLock
    from talops.pipeline.planning import Plan
    from talops.pipeline.result import RunResult
    from talops.pipeline.selection import Selection
    from talops.pipeline.session import BuildStages
    from talops.site.site import Site
    from talops.views.choose import View

Confirm = Callable[["Plan", "View"], Awaitable[bool]]


@dataclass(frozen=True)
class Job:
    """One run that a command requests."""

    command: str
    site: Site
    build: BuildStages
    selection: Selection
    confirm: Confirm
    next_commands: Callable[[RunResult], list[str]]
    output: Format = Format.TEXT
    dry_run: bool = False
    max_parallel: int = 10


def afterwards(command: str, *then: str) -> Callable[[RunResult], list[str]]:
    """The next commands: the same one until it succeeds, then those that follow it."""
    return lambda result: [command, "talops runs log"] if result.exit_code else [*then]


def run_job(job: Job) -> None:
    """Ends the command with the exit code of the run; the view has shown the result."""
    raise typer.Exit(record_job(job).exit_code)


def record_job(job: Job) -> RunResult:
    from talops.views.choose import open_view

    with open_view(json=job.output is Format.JSON, out=sys.stdout, err=sys.stderr) as view:
        return asyncio.run(_recorded(job, view))


async def _recorded(job: Job, view: View) -> RunResult:
    from talops.pipeline.interrupt import Interruption
    from talops.pipeline.runner import Options
    from talops.pipeline.session import RunRequest, run_recorded

    root = job.site.root
    request = RunRequest(
        command=job.command,
        cluster=job.site.cluster.name,
        root=root,
        inventory=[root / "cluster.yaml", root / "nodes.yaml"],
        options=Options(
            job.selection, job.dry_run, job.max_parallel, lambda plan: job.confirm(plan, view)
        ),
        next_commands=job.next_commands,
    )
    interruption = Interruption()
    seen = _Listener(view)
    async with _shared(job.site) as shared:
        with interruption.on_signals():
            result = await run_recorded(
                replace(request, shared=shared), job.build, view=seen, interruption=interruption
            )
    _write_report(root / ".talops", seen.run)
    return result


@asynccontextmanager
async def _shared(site: Site) -> AsyncIterator[SharedLock | None]:
    """The lock that other machines see, if the states are shared."""
    from talops.cli.output import note
    from talops.cli.state.context import run_locks
    from talops.site.run_lock import RunLock

    locks = run_locks(site.cluster, site.root, site.credentials)
    if locks is None:
        yield None
        return
    try:
        yield RunLock(site.cluster.name, locks, note)
    finally:
        await locks.close()


class _Listener:
    """Forwards events and keeps the id of their run."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.run = ""

    def __call__(self, event: Event) -> None:
        from talops.events import RunStarted

        if isinstance(event, RunStarted):
            self.run = event.run
        self.view(event)


def _write_report(home: Path, run: str) -> None:
    """A report that cannot be written does not fail the run."""
    from talops.cli.output import note
    from talops.files import PRIVATE, write_atomic
    from talops.pipeline.history import find_run
    from talops.views.report import report_html

    try:
        past = find_run(home, run)
        write_atomic(past.path / "report.html", report_html(past), mode=PRIVATE)
    except (TalopsError, OSError) as error:
        note(f"warning: cannot write the report of this run: {error}")

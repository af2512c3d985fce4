"""Run a workflow on an open site: locks, questions, record and report."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.site.checkout import mark

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.app.face import Face
    from talops.events import Event
    from talops.pipeline.approving import NewPlan
    from talops.pipeline.interrupt import Interruption
    from talops.pipeline.lock import SharedLock
    from talops.pipeline.planning import Plan
    from talops.pipeline.result import RunResult
    from talops.pipeline.run import Run
    from talops.site.site import ClosedSite, Site


async def execute(
    site: Site, run: Run, face: Face, interruption: Interruption | None = None
) -> RunResult:
    """The result of the run; ConflictError if another one is in progress.

    `interruption` stops the run from elsewhere: its face handles signals or a button.
    """
    from talops.pipeline.record import run_recorded
    from talops.site.state.own_name import claim

    async def confirm(plan: Plan) -> bool:
        return run.consent.given or await face.confirm(plan, run.consent)

    async def reconfirm(new: NewPlan) -> bool:
        return not run.consent.given and await face.confirm_changes(new, run.consent)

    await claim(site, face.note)
    seen = _Listener(face)
    options = replace(run.options, confirm=confirm, reconfirm=reconfirm, asks=not run.consent.given)
    mark(site.root)
    async with shared_run_lock(site, face.note) as shared:
        asking = replace(run, shared=shared, options=options)
        result = await run_recorded(asking, view=seen, interruption=interruption)
    _write_report(site.root / ".talops", seen.run, face)
    return result


@asynccontextmanager
async def shared_run_lock(
    site: ClosedSite, note: Callable[[str], None]
) -> AsyncIterator[SharedLock | None]:
    """The lock that other machines see, if the states are shared."""
    from talops.site.run_lock import RunLock, lease_of
    from talops.site.state.backends import run_locks

    locks = run_locks(site)
    if locks is None:
        yield None
        return
    try:
        yield RunLock(site.cluster.name, locks, note, lease_of(site.environment))
    finally:
        await locks.close()


class _Listener:
    """Forwards events and keeps the id of their run."""

    def __init__(self, face: Face) -> None:
        self.face = face
        self.run = ""

    def __call__(self, event: Event) -> None:
        from talops.events import RunStarted

        if isinstance(event, RunStarted):
            self.run = event.run
        self.face.show(event)


def _write_report(home: Path, run: str, face: Face) -> None:
    """A report that cannot be written does not fail the run."""
    from talops.files import PRIVATE, write_atomic
    from talops.pipeline.history import find_run
    from talops.views.report import report_html

    try:
        past = find_run(home, run)
        write_atomic(past.path / "report.html", report_html(past), mode=PRIVATE)
    except (TalopsError, OSError) as error:
        face.note(f"warning: cannot write the report of this run: {error}")

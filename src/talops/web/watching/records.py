"""The records of runs of one site: what changed since the last second, without reading them all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.pipeline.history import find_run, list_runs, read_events
from talops.views.runview import ON_PAGE, run_view

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.pipeline.history import PastRun
    from talops.views.runview import RunView
    from talops.web.watching.changes import Changes

RUNS = "runs"
SECONDS = 1.0
# Files of a run that change while it is in progress, or when it ends.
_FILES = ("run.json", "events.jsonl", "result.json")


class Records:
    """`list` is read again only after a file of a run changed."""

    def __init__(self, root: Path, changes: Changes, clock: Callable[[], float]) -> None:
        self.home = root / ".talops"
        self._changes, self._clock = changes, clock
        self._seen: object = None
        self._list: list[PastRun] = []
        self._views: dict[str, tuple[object, RunView]] = {}

    @property
    def list(self) -> list[PastRun]:
        """Newest first."""
        return self._list

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.to_thread(self.refresh)
            await asyncio.sleep(SECONDS)

    def refresh(self) -> bool:
        """Whether something changed. The newest runs are enough: older ones have ended."""
        seen = self._signature()
        if seen == self._seen:
            return False
        self._seen, self._list = seen, list_runs(self.home)
        self._changes.tell(RUNS)
        return True

    def view(self, name: str) -> RunView:
        """The picture of a run; of a run that has ended it is made once."""
        run = find_run(self.home, name)
        stamp = _files_of(run.path)
        known = self._views.get(run.info.id)
        if known and known[0] == stamp and not known[1].live:
            return known[1]
        view = run_view(run, list(read_events(run)), self._clock(), ON_PAGE)
        if len(self._views) > _KEPT:
            self._views.clear()
        self._views[run.info.id] = (stamp, view)
        return view

    def _signature(self) -> object:
        lock = _stat(self.home / "lock")
        try:
            names = sorted((p.name for p in (self.home / "runs").iterdir()), reverse=True)
        except OSError:
            names = []
        return lock, names, [_files_of(self.home / "runs" / name) for name in names[:_NEWEST]]


_NEWEST, _KEPT = 3, 8


def _files_of(path: Path) -> object:
    return [_stat(path / name) for name in _FILES]


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size

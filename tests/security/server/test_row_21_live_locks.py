"""`recover` frees only locks of runs that have ended; a same name proves nothing (row 21)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from talops.pipeline.history import PastRun
from talops.pipeline.lock import Holder
from talops.pipeline.rundir import RunInfo
from talops.site.run_lock import identity
from talops.stages import salvage
from talops.stages.salvage import Facts, is_left_over

if TYPE_CHECKING:
    from pathlib import Path

ME = "me@here"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINE = Facts(me=ME, runs=((NOON, NOON + HOUR),))
LAYER = "02-platforms-ha"


def lock(**changes: str) -> dict[str, str]:
    return {"ID": "1", "Who": ME, "Created": "2026-01-02T12:30:00.123456789Z", **changes}


def test_a_live_lock_of_the_same_user_in_another_clone() -> None:
    """Same user, same host, no run of this directory at that time: it stays."""
    assert not is_left_over(LAYER, lock(), replace(MINE, runs=()))
    assert not is_left_over(LAYER, lock(Created="2026-01-02T11:59:59Z"), MINE)
    assert not is_left_over(LAYER, lock(Created="2026-01-02T13:00:01Z"), MINE)
    assert not is_left_over(LAYER, lock(Created="yesterday"), MINE)


@pytest.mark.parametrize(
    ("change", "left"),
    [({}, True), ({"Who": "eve@far"}, False), ({"Created": "2026-01-02T12:00:00Z"}, True)],
)
def test_what_a_run_of_this_directory_left(change: dict[str, str], left: bool) -> None:
    """Taken while it ran, by its user; unless a program still works there."""
    assert is_left_over(LAYER, lock(**change), MINE) is left
    assert not is_left_over(LAYER, lock(**change), replace(MINE, busy=frozenset({LAYER})))


@pytest.mark.parametrize(
    ("theirs", "mine", "left"), [("old", "new", True), ("new", "new", False), ("old", "", False)]
)
def test_a_lock_names_its_run(theirs: str, mine: str, left: bool) -> None:
    """A run that lost its run lock cannot write any more, on any machine."""
    held = lock(Run=theirs, Who="eve@far")
    assert is_left_over(LAYER, held, replace(MINE, run=mine, runs=())) is left


def test_a_program_in_another_clone_is_seen(tmp_path: Path) -> None:
    """It works in the same layer, below another directory."""
    layer = "infrastructure/02-platforms/ha"
    clone = tmp_path / "another" / layer
    clone.mkdir(parents=True)
    assert not salvage._at_work(layer)
    words = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        words, cwd=clone, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        program.stdout.readline()
        assert salvage._at_work(layer)
        program.stdin.close()


def test_the_time_of_a_killed_run_ends_with_the_next_one() -> None:
    """Only then did this directory hold its own lock again."""

    def run(hour: int, status: str, ended: str | None = None) -> Any:
        started = (NOON + hour * HOUR).isoformat()
        info = RunInfo("r", "up", "demo", started, {}, {})
        return PastRun(tmp, info, status, ended=ended)

    tmp: Any = None
    ended = (NOON + HOUR / 2).isoformat()
    found = list(salvage._times([run(5, "running"), run(2, "killed"), run(0, "failed", ended)]))
    assert found[0] == (NOON + 2 * HOUR, NOON + 5 * HOUR)
    assert found[1][0] == NOON
    assert found[1][1] < NOON + HOUR


def test_holders_of_runs_are_unique(tmp_path: Path) -> None:
    """Two clones, the same user, host, command and second: two ids."""
    one, two = (Holder.myself("r", "up", tmp_path) for _ in range(2))
    same = replace(two, since=one.since, place=one.place)
    assert one.pid == same.pid == os.getpid()
    assert identity(one) != identity(same)

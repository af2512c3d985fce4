"""Group commit: shared by those who wait, heard of only when it is done."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import draft_of, lock_of, state_body

from talops.errors import UnreachableError
from talops.statestore.model import OutcomeKind
from talops.statestore.sqlite import changes
from talops.statestore.sqlite.commits import GroupCommit
from talops.statestore.sqlite.schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STATE = "a/b"


class Disk(sqlite3.Connection):
    """Counts its commits, and fails when told to."""

    commits = 0
    broken = False

    def commit(self) -> None:
        if self.broken:
            raise sqlite3.OperationalError("disk I/O error")
        self.commits += 1
        super().commit()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    connection = sqlite3.connect(
        tmp_path / "x.db", factory=Disk, isolation_level=None, check_same_thread=False
    )
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


async def test_those_who_wait_together_share_a_commit(disk: Disk) -> None:
    """A hundred changes at once cost a few commits, not a hundred."""
    before = disk.commits
    group = GroupCommit(disk)
    names = [f"p/s{n}" for n in range(100)]
    outcomes = await asyncio.gather(
        *(group.run(partial(changes.lock, state=name, wanted=lock_of("x"))) for name in names)
    )
    await group.close()
    assert all(outcome.kind is OutcomeKind.DONE for outcome in outcomes)
    assert disk.commits - before <= 3


async def test_a_failed_commit_is_heard_by_all_and_leaves_nothing(disk: Disk) -> None:
    """No client gets "done", and what was judged in vain is not remembered."""
    group = GroupCommit(disk)
    await group.run(lambda db: changes.write(db, STATE, draft_of(state_body(1))))
    disk.broken = True
    failed = await asyncio.gather(
        group.run(lambda db: changes.lock(db, STATE, lock_of("a"))),
        group.run(lambda db: changes.write(db, STATE, draft_of(state_body(2), lock_id="a"))),
        return_exceptions=True,
    )
    assert all(isinstance(error, UnreachableError) for error in failed)
    disk.broken = False
    taken = await group.run(lambda db: changes.lock(db, STATE, lock_of("b")))
    written = await group.run(
        lambda db: changes.write(db, STATE, draft_of(state_body(3), lock_id="b"))
    )
    await group.close()
    assert (taken.kind, written.kind) == (OutcomeKind.DONE, OutcomeKind.DONE)
    assert written.current is not None
    assert written.current.number == 2


async def test_a_refusal_costs_no_commit(disk: Disk) -> None:
    """Who only learns that a lock is held does not wait for the disk."""
    group = GroupCommit(disk)
    await group.run(lambda db: changes.lock(db, STATE, lock_of("a")))
    before = disk.commits
    refused = await group.run(lambda db: changes.lock(db, STATE, lock_of("b")))
    await group.close()
    assert refused.kind is OutcomeKind.HELD
    assert disk.commits == before

"""One run at a time, here and across machines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import ConflictError, UnreachableError
from talops.pipeline.lock import Holder, is_held, local_lock, proof_of, shared_lock
from talops.site.run_lock import identity

if TYPE_CHECKING:
    from pathlib import Path

DIES_WITH_THE_LOCK = """
import os, signal, sys
from pathlib import Path
from talops.pipeline.lock import Holder, local_lock
path = Path(sys.argv[1])
with local_lock(path, Holder.myself("first", "up", path.parent)):
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Board:
    """A shared lock in memory."""

    def __init__(self, holder: Holder | None = None, lease: float = 0.0) -> None:
        self.holder = holder
        self.lease = lease
        self.broken = False

    def token(self, holder: Holder) -> str:
        return f"demo.run:{holder.token}"

    async def renew(self, holder: Holder) -> bool:
        if self.broken:
            raise UnreachableError("the server is down")
        return self.holder == holder

    async def acquire(self, holder: Holder) -> Holder | None:
        if self.holder:
            return self.holder
        self.holder = holder
        return None

    async def release(self, holder: Holder) -> None:
        if self.broken:
            raise UnreachableError("the server is down")
        if self.holder == holder:
            self.holder = None

    def way_out(self, holder: Holder) -> str:
        return f"free it: unlock {holder.run}"


def test_a_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    """The error names command, user, host, pid and since when."""
    path, me = tmp_path / "lock", Holder.myself("r1", "up", tmp_path)
    with local_lock(path, me):
        assert is_held(path)
        with pytest.raises(ConflictError) as caught, local_lock(path, me):
            pass
    assert str(me) in str(caught.value)
    assert not is_held(path)


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    """Kill -9 inside the lock; the next run takes it without being asked anything."""
    path = tmp_path / "lock"
    killed = subprocess.run(
        [sys.executable, "-c", DIES_WITH_THE_LOCK, str(path)], check=False, timeout=60
    )
    assert killed.returncode == -9
    with local_lock(path, Holder.myself("second", "up", tmp_path)):
        pass


@pytest.mark.parametrize(
    ("other", "free"),
    [
        ({}, True),  # same host, same directory: killed, for the local lock is ours
        ({"host": "elsewhere"}, False),
        ({"directory": "/other/clone"}, False),
        ({"place": "another machine of the same name"}, False),
    ],
)
async def test_only_a_dead_holder_is_replaced(
    tmp_path: Path, other: dict[str, str], free: bool
) -> None:
    """A shared lock left by a killed run in this directory is taken over, any other is not."""
    me = Holder.myself("new", "up", tmp_path)
    board = Board(replace(me, run="old", pid=1, **other))
    if free:
        async with shared_lock(board, me, print):
            assert board.holder == me
        assert board.holder is None
    else:
        with pytest.raises(ConflictError, match="up by") as caught:
            async with shared_lock(board, me, print):
                pass
        assert board.holder
        assert caught.value.hint == "free it: unlock old"


@pytest.mark.parametrize(
    ("other", "free"),
    [
        ({}, True),
        ({"proof": "another boot:1:2"}, False),
        ({"proof": ""}, False),
        ({"host": "renamed", "directory": "/moved", "place": "x"}, True),
    ],
)
async def test_a_lease_is_replaced_only_with_a_proof(
    tmp_path: Path, other: dict[str, str], free: bool
) -> None:
    """The same lock file since the same start of the machine; the same names prove nothing."""
    (tmp_path / "lock").touch()
    proof = proof_of(tmp_path / "lock")
    me = replace(Holder.myself("new", "up", tmp_path), proof=proof)
    board = Board(replace(me, run="old", pid=1, **other), lease=60)
    if free:
        async with shared_lock(board, me, print):
            assert board.holder == me
    else:
        with pytest.raises(ConflictError, match="up by"):
            async with shared_lock(board, me, print):
                pass


def test_every_run_is_another_holder(tmp_path: Path) -> None:
    """Also two runs of the same process in the same second."""
    one, two = (Holder.myself("r", "up", tmp_path) for _ in range(2))
    assert one.token != two.token
    assert identity(one) != identity(two)


async def test_a_lock_that_cannot_be_given_back_spoils_no_run(tmp_path: Path) -> None:
    """What was done is done: it is said, and the next run here takes the lock over."""
    me, board, said = Holder.myself("new", "up", tmp_path), Board(), list[str]()
    async with shared_lock(board, me, said.append):
        board.broken = True
    assert "the server is down" in said[0]
    assert Holder.myself("later", "up", tmp_path).place == me.place != ""

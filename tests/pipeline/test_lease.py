"""A lease: renewed in time, checked before each change, lost when another run takes it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.test_lock import Board

from talops.errors import UnreachableError
from talops.pipeline.interrupt import Interruption
from talops.pipeline.lease import Fence, Lease, LostLockError
from talops.pipeline.lock import Holder, shared_lock
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Change, Stage
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.stage import Seen

LEASE = 60.0


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def mine(folder: Path) -> tuple[Board, Holder, Clock, Lease]:
    holder, clock = Holder.myself("r", "up", folder), Clock()
    board = Board(holder, LEASE)
    return board, holder, clock, Lease(board, holder, clock)


@pytest.mark.parametrize("age", [0.0, 29.0, 31.0, 59.0, 10_000.0])
async def test_a_lease_that_was_not_taken_is_still_held(tmp_path: Path, age: float) -> None:
    """However long the run was away: a renewal proves it."""
    board, holder, clock, lease = mine(tmp_path)
    clock.now = age
    await lease.check()
    assert board.holder == holder


async def test_a_lost_lease_stays_lost(tmp_path: Path) -> None:
    """Also after the other run has finished."""
    board, holder, clock, lease = mine(tmp_path)
    board.holder = Holder.myself("other", "up", tmp_path)
    clock.now = LEASE
    with pytest.raises(LostLockError, match="lost its lock"):
        await lease.check()
    board.holder = holder
    with pytest.raises(LostLockError):
        await lease.check()


@pytest.mark.parametrize(("age", "certain"), [(29.0, True), (40.0, True), (49.0, False)])
async def test_an_unreachable_server_is_no_proof(tmp_path: Path, age: float, certain: bool) -> None:
    """While the lease runs, no other can have it; near its end the run stops."""
    board, _, clock, lease = mine(tmp_path)
    board.broken, clock.now = True, age
    if certain:
        await lease.check()
    else:
        with pytest.raises(UnreachableError):
            await lease.check()


async def test_a_lock_without_lease_needs_no_renewal(tmp_path: Path) -> None:
    """Servers without leases never end it."""
    board, _, clock, lease = mine(tmp_path)
    board.lease, board.holder, clock.now = 0.0, None, 1e9
    await lease.check()


async def test_the_lock_is_renewed_in_the_background(tmp_path: Path) -> None:
    """And what happens to it is said once."""
    board, said = Board(lease=0.03), list[str]()
    me = Holder.myself("r", "up", tmp_path)
    async with shared_lock(board, me, said.append):
        board.broken = True
        await _until(said, "cannot renew")
        board.broken = False
        board.holder = Holder.myself("other", "up", tmp_path)
        await _until(said, "to another run")
    assert board.holder is not None
    assert board.holder.run == "other", "what is lost is not released"
    assert len(said) == 2


async def _until(said: list[str], words: str) -> None:
    async def probe() -> Ready[None] | NotYet:
        return Ready(None) if any(words in text for text in said) else NotYet(str(said))

    await wait_for(words, probe, timeout=30, interval=0.005)


class Writes(Stage[int, Change]):
    """Three changes; the lock is lost during the second one."""

    name = "writes"

    def __init__(self, board: Board, thief: Holder) -> None:
        self.board, self.thief = board, thief
        self.done: list[str] = []

    async def observe(self) -> int:
        return 3

    def plan(self, facts: int) -> list[Change]:
        return [Change("write", str(number)) for number in range(facts)]

    async def apply(self, change: Change) -> None:
        self.done.append(change.target)
        if change.target == "1":
            self.board.holder = self.thief

    async def verify(self, _: Seen[int, Change], /) -> None:
        self.done.append("verified")


async def test_a_run_stops_before_its_next_change(tmp_path: Path) -> None:
    """The change in progress ends; the next one, verify and conclude do not begin."""
    board, _, clock, lease = mine(tmp_path)
    clock.now = LEASE  # every check asks
    stage = Writes(board, Holder.myself("other", "up", tmp_path))
    fence = Fence()

    async def check() -> None:
        clock.now += LEASE
        await fence.check()

    with fence.guarded(lease, "token"):
        result = await run_stages(
            [stage],
            emit=lambda _: None,
            options=Options(fence=check),
            interruption=Interruption(),
        )
    assert stage.done == ["0", "1"]
    assert result.status is RunStatus.FAILED
    assert isinstance(result.error, LostLockError)
    await asyncio.sleep(0)
    assert fence.token == ""

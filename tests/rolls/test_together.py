"""Nodes that one action takes down: all are emptied before it, or none stops."""

from __future__ import annotations

import asyncio

import pytest

from talops.errors import TalopsError
from talops.rolls.meeting import LeftError, Meeting


class Action:
    def __init__(self, error: TalopsError | None = None) -> None:
        self.times = 0
        self._error = error

    async def __call__(self) -> None:
        self.times += 1
        await asyncio.sleep(0)
        if self._error:
            raise self._error


async def test_the_last_to_arrive_acts_for_all() -> None:
    """Once, and only when every node is there."""
    action = Action()
    meeting = Meeting(3, action)
    first = [asyncio.create_task(meeting.arrive()) for _ in range(2)]
    await asyncio.sleep(0)
    assert action.times == 0
    await asyncio.gather(meeting.arrive(), *first)
    assert action.times == 1


async def test_without_one_of_them_nothing_happens() -> None:
    """Those that wait already, and those that arrive later, go back into service."""
    action = Action()
    meeting = Meeting(3, action)
    waiting = asyncio.create_task(meeting.arrive())
    await asyncio.sleep(0)
    meeting.leave()
    outcomes = await asyncio.gather(waiting, meeting.arrive(), return_exceptions=True)
    assert [(type(o), getattr(o, "begun", None)) for o in outcomes] == [(LeftError, False)] * 2
    assert action.times == 0


async def test_the_error_is_raised_once() -> None:
    """The others only learn that the action had begun: they may be down."""
    meeting = Meeting(2, Action(TalopsError("no space left on device")))
    outcomes = await asyncio.gather(meeting.arrive(), meeting.arrive(), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {TalopsError, LeftError}
    assert [o.begun for o in outcomes if isinstance(o, LeftError)] == [True]


async def test_a_meeting_of_one() -> None:
    """No one to wait for."""
    action = Action()
    await Meeting(1, action).arrive()
    assert action.times == 1
    with pytest.raises(TalopsError, match="full"):
        await Meeting(1, Action(TalopsError("full"))).arrive()

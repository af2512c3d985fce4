"""Ctrl-C, once and twice, in a step that may be torn and in one that may not."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from talops.errors import InterruptedRunError
from talops.events import Event
from talops.pipeline.interrupt import Interruption
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Change, Stage
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Slow(Stage[int, Change]):
    """Waits in the step it is told to until it is let go."""

    def __init__(self, step: str) -> None:
        self.name = "slow"
        self.step = step
        self.entered = asyncio.Event()
        self.let_go = asyncio.Event()
        self.finished: list[str] = []

    async def _maybe_wait(self, step: str) -> None:
        if step == self.step:
            self.entered.set()
            await self.let_go.wait()
        self.finished.append(step)

    async def observe(self) -> int:
        await self._maybe_wait("observe")
        return 0

    def plan(self, facts: int) -> list[Change]:
        return [Change("create", "one"), Change("create", "two")]

    async def apply(self, change: Change) -> None:
        await self._maybe_wait("apply")

    async def verify(self, _: object, /) -> None:
        await self._maybe_wait("verify")


def heard(interruption: Interruption, number: int) -> Callable[[], Awaitable[Ready[None] | NotYet]]:
    async def probe() -> Ready[None] | NotYet:
        return Ready(None) if interruption.requests > number else NotYet("not delivered")

    return probe


@pytest.mark.parametrize(
    ("step", "signals", "finished"),
    [
        ("observe", 1, []),
        ("apply", 1, ["observe", "apply"]),
        ("apply", 2, ["observe"]),
        ("verify", 1, ["observe", "apply", "apply"]),
    ],
)
async def test_ctrl_c_finishes_only_what_must_be(
    step: str, signals: int, finished: list[str]
) -> None:
    """The first leaves a change whole and stops; the second, or any other step, stops at once."""
    stage, events = Slow(step), list[Event]()
    interruption = Interruption()
    with interruption.on_signals():
        run = asyncio.ensure_future(
            run_stages([stage], emit=events.append, interruption=interruption)
        )
        await stage.entered.wait()
        for number in range(signals):
            os.kill(os.getpid(), signal.SIGINT)
            await wait_for("the signal", heard(interruption, number), timeout=30, interval=0.001)
        stage.let_go.set()
        result = await run
    assert (result.status, result.exit_code) == (RunStatus.INTERRUPTED, 130)
    assert stage.finished == finished
    assert result.error
    assert "run the same command again" in str(result.error.hint)


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Only a request to stop becomes InterruptedRunError; a plain cancel is passed on."""
    step = asyncio.ensure_future(Interruption().step(asyncio.Event().wait(), atomic=True))
    await asyncio.sleep(0)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step


async def test_nothing_starts_after_a_request() -> None:
    """A step asked for after Ctrl-C is refused before it does anything."""
    interruption = Interruption()
    interruption.request()
    with pytest.raises(InterruptedRunError):
        await interruption.step(asyncio.sleep(0), atomic=True)

"""Ctrl-C finishes an atomic step; the second one, and SIGTERM, stop immediately."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, TypeVar

from talops.errors import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _silent(_: str) -> None:
    pass


class Interruption:
    """Counts the requests to stop and passes them to the running step."""

    def __init__(self, say: Callable[[str], None] = _silent) -> None:
        self.requests = 0
        self.say = say
        self._steps: dict[asyncio.Task[object], bool] = {}

    @property
    def requested(self) -> bool:
        return self.requests > 0

    def request(self, *, now: bool = False) -> None:
        """`now`: also cancel an atomic step; the next run continues it."""
        self.requests += 1
        waiting_for_atomic = any(self._steps.values())
        for task, atomic in list(self._steps.items()):
            if now or self.requests > 1 or not atomic:
                task.cancel()
        if self.requests == 1 and waiting_for_atomic and not now:
            self.say("stopping after the current step; press Ctrl-C again to stop now")

    def check(self) -> None:
        if self.requested:
            raise InterruptedRunError("interrupted", hint="run the same command again to continue")

    async def step(self, work: Coroutine[object, object, T], *, atomic: bool) -> T:
        """Run one step: on the first request an atomic step finishes, any other is cancelled."""
        try:
            self.check()
        except InterruptedRunError:
            work.close()
            raise
        task: asyncio.Task[T] = asyncio.ensure_future(work)
        self._steps[task] = atomic
        try:
            return await task
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            del self._steps[task]

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """While inside, signals that would end the process call this object instead."""
        loop = asyncio.get_running_loop()

        def let_go() -> None:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

        def heard(number: signal.Signals) -> None:
            # A service manager sends SIGKILL soon after SIGTERM.
            self.request(now=number is signal.SIGTERM)
            if self.requests > 1:  # a third one must work even if a step ignores its cancellation
                let_go()

        for number in SIGNALS:
            loop.add_signal_handler(number, heard, number)
        try:
            yield
        finally:
            let_go()

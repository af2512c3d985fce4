"""One polling loop for every wait: a name, a last reason, a deadline."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from talops.errors import NotReadyError, UnreachableError, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@dataclass(frozen=True)
class Ready(Generic[T]):
    """The condition is met; `value` is its result."""

    value: T


@dataclass(frozen=True)
class NotYet:
    """The condition is not met yet, and why."""

    reason: str


@dataclass(frozen=True)
class Waiting:
    """The name of a wait, its elapsed time, and the last reason the condition is not met."""

    name: str
    reason: str
    elapsed: float


def _ignore(_: Waiting) -> None:
    pass


async def wait_for(
    name: str,
    probe: Callable[[], Awaitable[Ready[T] | NotYet]],
    *,
    timeout: float,  # noqa: ASYNC109  (the error must carry the last reason, asyncio.timeout cannot)
    interval: float = 0.5,
    hint: str | None = None,
    report: Callable[[Waiting], None] = _ignore,
) -> T:
    """Probe until Ready. `NotReadyError` and `UnreachableError` count as "not yet"."""
    started = time.monotonic()
    while True:
        outcome = await _probe_once(probe)
        if isinstance(outcome, Ready):
            return outcome.value
        elapsed = time.monotonic() - started
        report(Waiting(name, outcome.reason, elapsed))
        if elapsed + interval > timeout:
            raise WaitTimeoutError(
                f"timed out after {elapsed:.0f} s waiting for {name};"
                f" last reason: {outcome.reason}",
                hint=hint,
            )
        await asyncio.sleep(interval)


async def _probe_once(probe: Callable[[], Awaitable[Ready[T] | NotYet]]) -> Ready[T] | NotYet:
    try:
        return await probe()
    except (NotReadyError, UnreachableError) as error:
        return NotYet(str(error))

"""A shared lock as a lease: renewed while the run works, and checked before each of its changes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from talops.pipeline.lock import Holder, SharedLock

# A third of the lease, so that one lost request does not matter.
RENEW_AFTER = 1 / 3
# Before a change, a lease older than the first is renewed; beyond the second it may have ended.
CHECK_AFTER, UNSAFE_AFTER = 0.5, 0.8


class LostLockError(ConflictError):
    """Another run took over, so this one must not change anything any more."""


def _now() -> float:
    """Also counts the time in which the machine was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Held by this run until another one takes it, which is possible only after it has ended."""

    def __init__(self, lock: SharedLock, holder: Holder, clock: Callable[[], float] = _now) -> None:
        self._lock = lock
        self._holder = holder
        self._clock = clock
        # The time before the last request that succeeded: the lease began no earlier.
        self._confirmed = clock()
        self._lost = False
        self._turn = asyncio.Lock()

    async def check(self) -> None:
        """LostLockError if another run has the lock; UnreachableError if that is not certain."""
        if not self._lost and self._age > CHECK_AFTER:
            try:
                await self._renew()
            except UnreachableError:
                if self._age > UNSAFE_AFTER:
                    raise
        if self._lost:
            raise LostLockError(
                "this run lost its lock: another run took over while this one did not respond",
                where="the shared lock",
                hint="wait for the other run to finish, then run the same command again",
            )

    @contextlib.asynccontextmanager
    async def kept(self, warn: Callable[[str], None]) -> AsyncIterator[None]:
        """Renewed in the background."""
        task = asyncio.create_task(self._keep(warn)) if self._lock.lease else None
        try:
            yield
        finally:
            if task:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _keep(self, warn: Callable[[str], None]) -> None:
        failed = False
        while not self._lost:
            await asyncio.sleep(self._lock.lease * RENEW_AFTER)
            try:
                await self._renew()
            except TalopsError as error:
                if not failed:
                    warn(f"cannot renew the shared lock: {error}")
                failed = True
            else:
                failed = False
        warn("this run lost its shared lock to another run: it stops before its next change")

    async def _renew(self) -> None:
        async with self._turn:
            before = self._clock()
            if await self._lock.renew(self._holder):
                self._confirmed = before
            else:
                self._lost = True

    @property
    def _age(self) -> float:
        """The part of the lease that has passed; 0 for locks that do not end."""
        lease = self._lock.lease
        return (self._clock() - self._confirmed) / lease if lease else 0.0


class Fence:
    """What a run passes before each change. Without a shared lock it is open."""

    def __init__(self) -> None:
        self._lease: Lease | None = None
        # What a state server needs to refuse this run after it lost its lock.
        self.token = ""

    async def check(self) -> None:
        if self._lease is not None:
            await self._lease.check()

    @contextlib.contextmanager
    def guarded(self, lease: Lease, token: str) -> Iterator[None]:
        self._lease, self.token = lease, token
        try:
            yield
        finally:
            self._lease, self.token = None, ""

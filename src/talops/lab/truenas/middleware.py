"""Between the wire and the methods: authentication, permissions and faults."""

from __future__ import annotations

import asyncio
import errno
import time
from typing import TYPE_CHECKING, Any

from talops.lab.truenas import keys
from talops.lab.truenas.errors import NOT_AUTHENTICATED, CallError, Dropped
from talops.lab.truenas.methods import Methods

if TYPE_CHECKING:
    from talops.lab.faults import Faults
    from talops.lab.truenas.keys import ApiKey
    from talops.lab.truenas.zfs import Zfs

HOST = "truenas"


# Logins allowed per address and method within a minute, as on a real TrueNAS.
LOGINS, WINDOW = 20, 60.0


class RateLimit:
    """Counts in windows, including rejected logins, as the real one does."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[str, tuple[float, int]] = {}

    def count(self, method: str) -> None:
        now = time.monotonic()
        began, count = self._seen.get(method, (now, 0))
        if now - began >= self._seconds:
            began, count = now, 0
        self._seen[method] = (began, count + 1)
        if count + 1 > LOGINS:
            raise CallError("Rate Limit Exceeded", errno.EBUSY)


class Middleware:
    """`asked` records every method in the order of the calls."""

    def __init__(
        self, zfs: Zfs, known: tuple[ApiKey, ...], faults: Faults, timing: float = 1.0
    ) -> None:
        self.rate_limit = RateLimit(WINDOW * timing)
        self.zfs = zfs
        self.keys = known
        self.asked: list[str] = []
        self._faults = faults
        self._methods = Methods(zfs)

    def log_in(self, given: str) -> ApiKey | None:
        """None for a wrong key, or one that a fault revoked."""
        self._faults.refresh()
        key = keys.find(self.keys, given)
        if key is None or self.is_revoked(key):
            return None
        return key

    def is_revoked(self, key: ApiKey) -> bool:
        return self._faults.find("token-revoked", host=HOST, token=key.name) is not None

    def knows(self, method: str) -> bool:
        return method in self._methods.table

    async def call(self, key: ApiKey | None, method: str, params: list[Any]) -> Any:
        if key is None:
            raise CallError("Not authenticated", NOT_AUTHENTICATED)
        found = self._methods.table[method]
        if not key.may(found.role):
            raise CallError("Not authorized", errno.EACCES)
        await self._slow(method)
        self._fail("before", method)
        self.asked.append(method)
        try:
            result = found.run(*params)
        finally:
            self.zfs.commit()
        self._fail("after", method)
        return result

    async def _slow(self, method: str) -> None:
        self._faults.refresh()
        fault = self._faults.find("latency", host=HOST, path=method)
        if fault:
            await asyncio.sleep(fault.seconds)

    def _fail(self, when: str, method: str) -> None:
        if self._faults.find("drop", host=HOST, path=method, when=when):
            raise Dropped
        fault = self._faults.find("error", host=HOST, path=method, when=when)
        if fault:
            raise CallError(fault.message or "injected failure")

"""A lock that does not protect a state: acquired, read and released by its id.

It is stored with the states; `talops state locks` shows it and `talops state unlock` removes it.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Protocol

from talops.errors import ConflictError
from talops.statestore.backends.http import HttpBackend
from talops.statestore.backends.interface import parse_lock

if TYPE_CHECKING:
    from collections.abc import Mapping

# The lock may be released between the refusal and the request for its holder.
TRIES = 5


class NotOfferedError(Exception):
    """A different server without a lock at this address."""


class NamedLocks(Protocol):
    @property
    def place(self) -> str: ...

    async def acquire(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """None if it was acquired, otherwise the document of the holder."""
        ...

    @property
    def lease(self) -> float:
        """Seconds after which a lock ends unless it is renewed; 0 if this backend has no leases."""
        ...

    @property
    def fences(self) -> bool:
        """Whether writes of states can be bound to a lock."""
        ...

    async def renew(self, name: str, document: Mapping[str, Any]) -> bool:
        """False if another holder took it."""
        ...

    async def release(self, name: str, lock_id: str) -> None:
        """Release it; nothing happens if another holder has it."""
        ...

    async def close(self) -> None: ...


class HttpLocks(HttpBackend):
    """LOCK and UNLOCK, as the tools use them; a server of talops ends a lock without renewal."""

    lease = 0.0

    @property
    def fences(self) -> bool:
        return bool(self.lease)

    async def acquire(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        address, body = self._state(name), json.dumps(document).encode()
        for _ in range(TRIES):
            try:
                answer = await self._ask("LOCK", address, body, missing=True)
                if answer is None:
                    raise NotOfferedError
                self.lease = float(answer.headers.get("x-lock-lease", 0))
            except ConflictError:
                held = await self._ask("GET", f"{address}/lock", missing=True)
                if held is not None and held.content:
                    self.lease = float(held.headers.get("x-lock-lease", 0))
                    return parse_lock(held.content, address)
            else:
                return None
        raise ConflictError("the lock changes its holder too often", where=address)

    async def renew(self, name: str, document: Mapping[str, Any]) -> bool:
        try:
            await self._ask("LOCK", self._state(name), json.dumps(document).encode())
        except ConflictError:
            return False
        return True

    async def release(self, name: str, lock_id: str) -> None:
        # With an Operation: an unlock by the holder, not a forced one.
        body = json.dumps({"ID": lock_id, "Operation": "talops"}).encode()
        with contextlib.suppress(ConflictError):
            await self._ask("UNLOCK", self._state(name), body)

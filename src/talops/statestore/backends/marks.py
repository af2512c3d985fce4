"""A lock that stands for something other than a state: taken, read and given back by its id.

It lies beside the states, where `talops state locks` shows it and `talops state unlock` frees it.
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

# Somebody may give the lock back between a refusal and the question who has it.
TRIES = 5


class NotOfferedError(Exception):
    """A server of another kind, which has no lock at such an address."""


class Marks(Protocol):
    @property
    def place(self) -> str: ...

    async def take(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """None: it is taken now. Otherwise the document of whoever has it."""
        ...

    async def drop(self, name: str, lock_id: str) -> None:
        """Give it back; nothing happens if somebody else has it by now."""
        ...

    async def close(self) -> None: ...


class HttpMarks(HttpBackend):
    """LOCK and UNLOCK, as the tools themselves use them."""

    async def take(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        address, body = self._state(name), json.dumps(document).encode()
        for _ in range(TRIES):
            try:
                if await self._ask("LOCK", address, body, missing=True) is None:
                    raise NotOfferedError
            except ConflictError:
                held = await self._ask("GET", f"{address}/lock", missing=True)
                if held is not None and held.content:
                    return parse_lock(held.content, address)
            else:
                return None
        raise ConflictError("the lock changes hands all the time", where=address)

    async def drop(self, name: str, lock_id: str) -> None:
        # With an operation in it: the holder's own word, not a forced one.
        body = json.dumps({"ID": lock_id, "Operation": "talops"}).encode()
        with contextlib.suppress(ConflictError):
            await self._ask("UNLOCK", self._state(name), body)

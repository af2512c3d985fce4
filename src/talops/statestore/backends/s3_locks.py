"""The same lock in a bucket; a separate module because the S3 client is slow to load."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.statestore.backends.interface import parse_lock
from talops.statestore.backends.locks import TRIES
from talops.statestore.backends.s3 import LOCK_SUFFIX, S3Backend
from talops.statestore.s3.bucket import ChangedError

if TYPE_CHECKING:
    from collections.abc import Mapping


class S3Locks(S3Backend):
    """One object, created only if it does not exist, like the lock files of the tools.

    A bucket has no clock: a lease has ended if its object stayed the same for as long as the lease.
    """

    lease = 0.0
    # The tools write their states directly into the bucket.
    fences = False

    async def acquire(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        for _ in range(TRIES):
            with contextlib.suppress(ChangedError):
                await self._bucket.swap(_key(name), _rendered(document), None)
            # Read back: a store that ignores the condition lets the last writer win.
            held = await self._held(name)
            if held is None:
                continue
            found, etag = held
            self.lease = _lease(found)
            if found.get("ID") == document["ID"]:
                return None
            if not await self._ended(name, found, etag):
                return found
            with contextlib.suppress(ChangedError):
                await self._bucket.swap(_key(name), _rendered(document), etag)
        raise ConflictError("the lock changes its holder too often", where=_key(name))

    async def renew(self, name: str, document: Mapping[str, Any]) -> bool:
        held = await self._held(name)
        if held is None or held[0].get("ID") != document["ID"]:
            return False
        try:
            await self._bucket.swap(_key(name), _rendered(document), held[1])
        except ChangedError:
            return False
        return True

    async def release(self, name: str, lock_id: str) -> None:
        found = await self._lock(name)
        if found and found.get("ID") == lock_id:
            await self._bucket.delete([_key(name)])

    async def _held(self, name: str) -> tuple[dict[str, Any], str] | None:
        found = await self._bucket.get(_key(name))
        return (parse_lock(found[0], _key(name)), found[1]) if found else None

    async def _ended(self, name: str, found: Mapping[str, Any], etag: str) -> bool:
        """Only a lock that looks old is watched: clocks differ, so its age alone proves nothing."""
        lease = _lease(found)
        try:
            renewed = datetime.fromisoformat(str(found.get("Renewed")))
            age = (datetime.now(UTC) - renewed).total_seconds()
        except (ValueError, TypeError):
            return False
        if not lease or age < lease:
            return False
        await asyncio.sleep(lease)
        now = await self._held(name)
        return now is not None and now[1] == etag


def _lease(document: Mapping[str, Any]) -> float:
    lease = document.get("Lease", 0)
    return float(lease) if isinstance(lease, int | float) else 0.0


def _rendered(document: Mapping[str, Any]) -> bytes:
    # Another content with each renewal, so that its ETag changes.
    return json.dumps({**document, "Renewed": datetime.now(UTC).isoformat()}).encode()


def _key(name: str) -> str:
    return f"{name}.tfstate{LOCK_SUFFIX}"

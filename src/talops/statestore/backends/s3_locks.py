"""The same lock in a bucket; a separate module because the S3 client is slow to load."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.statestore.backends.locks import TRIES
from talops.statestore.backends.s3 import LOCK_SUFFIX, S3Backend
from talops.statestore.s3.bucket import ChangedError

if TYPE_CHECKING:
    from collections.abc import Mapping


class S3Locks(S3Backend):
    """One object, created only if it does not exist, like the lock files of the tools."""

    async def acquire(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        for _ in range(TRIES):
            with contextlib.suppress(ChangedError):
                await self._bucket.swap(_key(name), json.dumps(document).encode(), None)
            # Read back: a store that ignores the condition lets the last writer win.
            found = await self._lock(name)
            if found is not None:
                return None if found.get("ID") == document["ID"] else found
        raise ConflictError("the lock changes its holder too often", where=_key(name))

    async def release(self, name: str, lock_id: str) -> None:
        found = await self._lock(name)
        if found and found.get("ID") == lock_id:
            await self._bucket.delete([_key(name)])


def _key(name: str) -> str:
    return f"{name}.tfstate{LOCK_SUFFIX}"

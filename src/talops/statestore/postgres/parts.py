"""Large bodies in parts of a page each."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from typing import TYPE_CHECKING, Any

import asyncpg

from talops.errors import TalopsError, UnreachableError
from talops.statestore.cache import BlobCache, spool
from talops.statestore.postgres import statements as sql
from talops.statestore.postgres.failures import translated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PARTS_PER_READ = 128


class Parts:
    def __init__(self, pool: Any, lazy_pool: Any) -> None:
        self._pool = pool
        self._lazy_pool = lazy_pool
        self._cache = BlobCache()

    async def stage(self) -> PartStaging:
        blob = uuid.uuid4().hex
        with translated():
            await self._lazy_pool.execute(sql.BEGIN_BLOB, blob, time.time())
        return PartStaging(self._pool, self._lazy_pool, blob, self._cache)

    def stream(self, blob: str) -> AsyncIterator[bytes]:
        return self._cache.stream(blob) or self._fetched(blob)

    def forget(self, blob: str) -> None:
        self._cache.forget(blob)

    def close(self) -> None:
        self._cache.close()

    async def _fetched(self, blob: str) -> AsyncIterator[bytes]:
        place = 0
        while True:
            with translated():
                rows = await self._pool.fetch(sql.PARTS, blob, place, place + PARTS_PER_READ)
            if not rows and place == 0:
                raise TalopsError("the body of a state is gone", hint="talops state rollback")
            if rows:
                yield b"".join([row[0] for row in rows])
            if len(rows) < PARTS_PER_READ:
                return
            place += PARTS_PER_READ


class PartStaging:
    def __init__(self, pool: Any, lazy_pool: Any, blob: str, cache: BlobCache) -> None:
        self._pool = pool
        self._lazy_pool = lazy_pool
        self._blob = blob
        self._count = 0
        self._cache = cache
        self._file = spool()

    async def write(self, piece: bytes) -> None:
        parts = [piece[place : place + sql.PART] for place in range(0, len(piece), sql.PART)]
        records = [(self._blob, self._count + n, part) for n, part in enumerate(parts)]
        with translated():
            await self._lazy_pool.copy_records_to_table("talops_part", records=records)
        self._count += len(parts)
        await asyncio.to_thread(self._file.write, piece)

    async def finish(self) -> str:
        with translated():
            found = await self._pool.fetchval(sql.FINISH_BLOB, self._blob, self._count)
        if found is None:
            raise UnreachableError("the database lost parts of an upload; send it again")
        self._cache.adopt(self._blob, self._file)
        return self._blob

    async def abort(self) -> None:
        self._file.close()
        # What cannot be removed now goes with the sweep.
        with contextlib.suppress(OSError, TimeoutError, asyncpg.PostgresError):
            await self._lazy_pool.execute(sql.DISCARD, self._blob)

"""Large bodies in parts of one page each."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
import uuid
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError, UnreachableError
from talops.statestore.cache import BlobCache, spool
from talops.statestore.postgres import statements as sql
from talops.statestore.postgres.failures import translated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.store import Make

PARTS_PER_READ = 131  # one frame
# PostgreSQL's binary COPY format: eleven bytes of signature, flags, no extension; then rows of
# counted fields, and a count of -1 at the end.
_COPY_START = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_ROW = struct.Struct("!hi32siii")
_COPY_END = b"\xff\xff"


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
                raise TalopsError("the body of a state is missing", hint="talops state rollback")
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

    async def write(self, make: Make) -> None:
        rows = await asyncio.to_thread(self._rows, make)
        with translated():
            await self._lazy_pool.copy_to_table(
                "talops_part",
                # A buffer on purpose: with an iterator, asyncpg waits for space on the connection
                # between the pieces, and never wakes up if the connection is lost.
                source=memoryview(rows),
                columns=("blob", "n", "data"),
                format="binary",
            )

    def _rows(self, make: Make) -> bytes:
        """The next parts in the format of COPY, built on a thread."""
        pieces = make()
        self._file.writelines(pieces)
        data = memoryview(b"".join(pieces))
        blob = self._blob.encode()
        rows: list[bytes | memoryview] = [_COPY_START]
        for place in range(0, len(data), sql.PART):
            part = data[place : place + sql.PART]
            rows += (_ROW.pack(3, len(blob), blob, 4, self._count, len(part)), part)
            self._count += 1
        return b"".join([*rows, _COPY_END])

    async def finish(self) -> str:
        with translated():
            found = await self._pool.fetchval(sql.FINISH_BLOB, self._blob, self._count)
        if found is None:
            raise UnreachableError("the database lost parts of an upload; send it again")
        self._cache.adopt(self._blob, self._file)
        return self._blob

    async def abort(self) -> None:
        self._file.close()
        # What cannot be removed now is removed by the sweep.
        with contextlib.suppress(UnreachableError), translated():
            await self._lazy_pool.execute(sql.DISCARD, self._blob)

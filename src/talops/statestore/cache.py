"""A local cache of bodies that passed through this server.

A blob never changes and its name is never reused, so a copy is valid on every server. The files
are unnamed: they disappear with the process.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import OrderedDict
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Small on purpose: a short-lived file never reaches the disk.
LIMIT = 160 * 1024 * 1024
PIECE = 1024 * 1024


def spool() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="talops-state-")


class BlobCache:
    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._files: OrderedDict[str, tuple[IO[bytes], int]] = OrderedDict()
        self._size = 0

    def adopt(self, blob: str, file: IO[bytes]) -> None:
        """Add a written file; evict the least recently used ones to make room."""
        file.flush()
        size = os.fstat(file.fileno()).st_size
        self._files[blob] = (file, size)
        self._size += size
        while self._size > self._limit:
            _, (oldest, freed) = self._files.popitem(last=False)
            oldest.close()
            self._size -= freed

    def stream(self, blob: str) -> AsyncIterator[bytes] | None:
        if blob not in self._files:
            return None
        self._files.move_to_end(blob)
        # A separate handle: the entry may be evicted during a read.
        return _pieces(os.dup(self._files[blob][0].fileno()))

    def forget(self, blob: str) -> None:
        if found := self._files.pop(blob, None):
            found[0].close()
            self._size -= found[1]

    def close(self) -> None:
        for blob in list(self._files):
            self.forget(blob)


async def _pieces(handle: int) -> AsyncIterator[bytes]:
    try:
        place = 0
        while piece := await asyncio.to_thread(os.pread, handle, PIECE, place):
            yield piece
            place += len(piece)
    finally:
        os.close(handle)

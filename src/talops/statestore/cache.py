"""Bodies that passed through this server, on its own disk.

A blob never changes and its name is never used twice, so a copy is as good as the original on
whichever server it lies. The files have no name: they vanish with the process.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import OrderedDict
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Small on purpose: a file that is gone again soon never reaches the disk.
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
        """Take over a written file; the longest unused ones make room for it."""
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
        # A handle of its own: the entry may be dropped while somebody still reads.
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

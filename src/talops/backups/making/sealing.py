"""Hash and encrypt a snapshot while it arrives, each in a thread of its own.

Both spend their time outside of the interpreter, so that on several processors they overlap with
each other and with what receives the snapshot. A few pieces wait between them, never more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Self

from talops.errors import TalopsError
from talops.secrets.age_stream import AgeWriter
from talops.talos.snapshot import SnapshotDigest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from concurrent.futures import Future
    from types import TracebackType

# What is handed to the threads at once, and how many of these exist: one is filled, the others are
# worked on. They are used again, because getting memory from the system costs more than hashing.
PIECE, PIECES = 1 << 20, 4


class DiskError(TalopsError):
    """Another control plane would not help."""


@dataclass(frozen=True)
class Sealed:
    """A snapshot in its encrypted file, and the size of that."""

    snapshot: SnapshotDigest
    size: int


async def seal(
    pieces: AsyncGenerator[bytes],
    file: IO[bytes],
    recipients: tuple[str, ...],
    source: str,
    *,
    copied: bool = False,
) -> Sealed:
    """The encrypted form of a whole snapshot, written to `file`; the file of a member (`copied`)
    has no digest that could tell.
    """
    with _Threads(file, recipients) as threads:
        async with aclosing(pieces):
            async for piece in pieces:
                await threads.add(piece)
        digest = await threads.digested()
        if not (digest.whole or copied):
            raise TalopsError(
                f"the snapshot is damaged or truncated after {digest.size} bytes",
                where=source,
                hint="talops backup create; no backup was written",
            )
        return Sealed(digest, await threads.written())


class _Threads:
    """One hashes what arrives, the other one encrypts and writes it."""

    def __init__(self, file: IO[bytes], recipients: tuple[str, ...]) -> None:
        self._hashing, self._encrypting = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._digest, self._out = SnapshotDigest(), _Out(file)
        self._writer = AgeWriter(self._out.write, recipients)
        self._filling, self._filled = memoryview(bytearray(PIECE)), 0
        self._worked_on: deque[_Work] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing writes to the file any more; what still waits is dropped."""
        for pool in (self._hashing, self._encrypting):
            pool.shutdown(wait=True, cancel_futures=True)

    async def add(self, piece: bytes) -> None:
        at = 0
        while at < len(piece):
            room = min(PIECE - self._filled, len(piece) - at)
            self._filling[self._filled : self._filled + room] = piece[at : at + room]
            self._filled, at = self._filled + room, at + room
            if self._filled == PIECE:
                await self._hand_over()

    async def digested(self) -> SnapshotDigest:
        """When all of it is hashed."""
        await self._hand_over()
        for work in self._worked_on:
            await asyncio.wrap_future(work.hashed)
        return self._digest

    async def written(self) -> int:
        """The size of the encrypted file."""
        while self._worked_on:
            await self._worked_on.popleft().done()
        await asyncio.wrap_future(self._encrypting.submit(self._finish))
        return self._out.size

    def _finish(self) -> None:
        self._writer.finish()
        self._out.flush()

    async def _hand_over(self) -> None:
        """What was added so far; then fill one that nothing works on any more."""
        piece = self._filling[: self._filled]
        hashed = self._hashing.submit(self._digest.add, piece)
        encrypted = self._encrypting.submit(self._writer.add, piece)
        self._worked_on.append(_Work(self._filling, hashed, encrypted))
        if len(self._worked_on) < PIECES:
            self._filling = memoryview(bytearray(PIECE))
        else:
            self._filling = await self._worked_on.popleft().done()
        self._filled = 0


@dataclass(frozen=True)
class _Work:
    """A piece that both threads are given."""

    piece: memoryview
    hashed: Future[None]
    encrypted: Future[None]

    async def done(self) -> memoryview:
        await asyncio.wrap_future(self.hashed)
        await asyncio.wrap_future(self.encrypted)
        return self.piece


class _Out:
    """The encrypted file, and how much was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size = file, 0

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        try:
            self._file.write(piece)
        except OSError as error:
            raise _full(error) from error

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise _full(error) from error


def _full(error: OSError) -> DiskError:
    return DiskError(
        f"cannot write: {error.strerror}",
        hint="free space, or change store: of backup: in cluster.yaml; "
        "earlier backups are unchanged",
    )

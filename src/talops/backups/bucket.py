"""Backups in an S3 bucket. A write counts only when the bucket has returned what was written."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
import time
from typing import IO, TYPE_CHECKING

from talops.backups.manifest import is_id
from talops.backups.store import ABANDONED, DATA, LARGEST_DOCUMENT, MANIFEST
from talops.errors import TalopsError
from talops.files import make_private_directory, writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from talops.statestore.s3.bucket import Bucket

# A bucket that does not answer for this long is given up; each attempt has a limit of its own.
PATIENCE = 600.0
HINT = "earlier backups are unchanged; check the bucket, then run the same command again"


class BucketStore:
    """`spool` is a directory for encrypted files on their way."""

    def __init__(self, bucket: Bucket, place: str, spool: Path) -> None:
        self._bucket, self._spool = bucket, spool
        self.place = place

    async def sizes(self) -> dict[str, int]:
        with _named(self.place):
            entries = await self._bucket.entries()
        return {name: size for name, size, _ in entries if "/" not in name}

    async def read(self, name: str) -> bytes:
        with _named(f"{self.place}/{name}"):
            found = await self._bucket.get(name, most=LARGEST_DOCUMENT)
        if found is None:
            raise TalopsError("does not exist in the bucket", where=f"{self.place}/{name}")
        return found[0]

    async def write(self, name: str, data: bytes) -> None:
        with _named(f"{self.place}/{name}"):
            await self._bucket.put(name, data)
        if await self.read(name) != data:
            raise self._lied(name)

    @contextlib.asynccontextmanager
    async def incoming(self) -> AsyncIterator[_Incoming]:
        with self._temporary() as file:
            yield _Incoming(self, file)

    async def keep(self, name: str, file: IO[bytes], sha256: str) -> None:
        file.seek(0)
        try:
            async with asyncio.timeout(PATIENCE):
                with _named(f"{self.place}/{name}"):
                    await self._bucket.put(name, file)
                stored = hashlib.sha256()
                async for piece in self._bucket.stream(name):
                    stored.update(piece)
        except TimeoutError:
            raise TalopsError(
                f"the bucket did not take the backup within {PATIENCE:g} s",
                where=f"{self.place}/{name}",
                hint=HINT,
            ) from None
        if stored.hexdigest() != sha256:
            await self.remove(name)
            raise self._lied(name)

    @contextlib.asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[IO[bytes]]:
        """Downloaded first, as it is: encrypted."""
        with self._temporary() as file:
            async for piece in self._bucket.stream(name):
                with writing(self._spool):
                    file.write(piece)
            with writing(self._spool):
                file.flush()
            file.seek(0)
            yield file

    async def remove(self, name: str) -> None:
        await self._bucket.delete([name])

    async def sweep(self) -> int:
        entries = await self._bucket.entries()
        names = {name for name, _, _ in entries}
        now = time.time()
        left = [
            name
            for name, _, modified in entries
            if name.endswith(DATA)
            and is_id(name.removesuffix(DATA))
            and name.removesuffix(DATA) + MANIFEST not in names
            and now - modified > ABANDONED
        ]
        await self._bucket.delete(left)
        return len(left)

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[IO[bytes]]:
        """Without a name, so that nothing remains, even after kill -9."""
        with writing(self._spool):
            file = tempfile.TemporaryFile(  # noqa: SIM115  (closed below, whatever the disk says)
                dir=make_private_directory(self._spool)
            )
        try:
            yield file
        finally:
            with contextlib.suppress(OSError):  # a full disk: nothing of it is needed any more
                file.close()

    def _lied(self, name: str) -> TalopsError:
        return TalopsError(
            "the bucket does not return what was written to it",
            where=f"{self.place}/{name}",
            hint=HINT,
        )


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    """The client of the bucket advises about states."""
    try:
        yield
    except TalopsError as error:
        error.where, error.hint = where, HINT
        raise


class _Incoming:
    def __init__(self, store: BucketStore, file: IO[bytes]) -> None:
        self._store = store
        self.file = file

    async def keep(self, name: str, sha256: str) -> None:
        await self._store.keep(name, self.file, sha256)

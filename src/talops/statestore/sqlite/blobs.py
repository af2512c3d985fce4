"""Large bodies as files that are written once, synced and never changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from typing import IO, TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.files import PRIVATE, make_private_directory
from talops.statestore.store import ORPHAN_AGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container
    from pathlib import Path

    from talops.statestore.store import Make

PIECE = 1024 * 1024


class Blobs:
    def __init__(self, directory: Path) -> None:
        self._directory = make_private_directory(directory)

    async def stage(self) -> FileStaging:
        name = uuid.uuid4().hex
        path = self._directory / name
        try:
            return FileStaging(path, await asyncio.to_thread(_create, path))
        except OSError as error:
            raise _unwritable(error, path) from error

    async def stream(self, name: str) -> AsyncIterator[bytes]:
        path = self._directory / name
        try:
            # An open file stays readable after its deletion: retention cannot break a read.
            file = await asyncio.to_thread(path.open, "rb", 0)
        except OSError as error:
            raise TalopsError(
                f"the body of a state cannot be read: {error.strerror}",
                where=str(path),
                hint="restore the file from a backup, or roll back: talops state rollback",
            ) from error
        with file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece

    def remove(self, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                (self._directory / name).unlink()

    def orphans(self, named: Container[str], now: float) -> list[str]:
        found = []
        for entry in os.scandir(self._directory):
            with contextlib.suppress(FileNotFoundError):
                if entry.name not in named and now - entry.stat().st_mtime > ORPHAN_AGE:
                    found.append(entry.name)
        return found


class FileStaging:
    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    async def write(self, make: Make) -> None:
        try:
            await asyncio.to_thread(self._write, make)
        except OSError as error:
            raise _unwritable(error, self._path) from error

    def _write(self, make: Make) -> None:
        self._file.writelines(make())

    async def finish(self) -> str:
        try:
            await asyncio.to_thread(self._sync)
        except OSError as error:
            raise _unwritable(error, self._path) from error
        return self._path.name

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        # The name is durable only after its directory is synced.
        directory = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    async def abort(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def _create(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")


def _unwritable(error: OSError, path: Path) -> UnreachableError:
    return UnreachableError(f"cannot write a state body: {error.strerror}", where=str(path.parent))

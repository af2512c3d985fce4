"""Backups in a directory of this machine, which may be a mounted disk of another one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from talops.backups.manifest import is_id
from talops.backups.store import ABANDONED, DATA, LARGEST_DOCUMENT, MANIFEST
from talops.errors import TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic, writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_PARTIAL = re.compile(r"\.incoming-[a-z0-9_]+")


class DirectoryStore:
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    async def sizes(self) -> dict[str, int]:
        with self._reading(self._path):
            try:
                return {
                    entry.name: entry.stat().st_size
                    for entry in os.scandir(self._path)
                    if entry.is_file(follow_symlinks=False) and not entry.name.startswith(".")
                }
            except FileNotFoundError:
                return {}

    async def read(self, name: str) -> bytes:
        path = self._path / name
        with self._reading(path), path.open("rb") as file:
            found = file.read(LARGEST_DOCUMENT + 1)
        if len(found) > LARGEST_DOCUMENT:
            raise TalopsError(
                f"this file is larger than {LARGEST_DOCUMENT >> 20} MiB",
                where=str(path),
                hint="check who can write to the store",
            )
        return found

    async def write(self, name: str, data: bytes) -> None:
        self._make()
        write_atomic(self._path / name, data, mode=PRIVATE)

    def _make(self) -> None:
        with writing(self._path):
            make_private_directory(self._path)
            ignored = self._path / ".gitignore"  # a repository is not the place for databases
            if not ignored.exists():
                write_atomic(ignored, "*\n")

    @contextlib.asynccontextmanager
    async def incoming(self) -> AsyncIterator[_Incoming]:
        self._make()
        with writing(self._path):
            handle, name = tempfile.mkstemp(dir=self._path, prefix=".incoming-")
        path = Path(name)
        file = os.fdopen(handle, "w+b")
        try:
            yield _Incoming(file, path)
        finally:
            with contextlib.suppress(OSError):  # a full disk: what is held is not needed any more
                file.close()
            _drop(path)

    @contextlib.asynccontextmanager
    async def opened(self, name: str) -> AsyncIterator[IO[bytes]]:
        path = self._path / name
        with self._reading(path):
            file = path.open("rb")
        with file:
            yield file

    async def remove(self, name: str) -> None:
        with writing(self._path / name):
            (self._path / name).unlink(missing_ok=True)

    async def sweep(self) -> int:
        names = await self.sizes()
        left = [n for n in names if _without_manifest(n, names)]
        if self._path.is_dir():
            left += [p.name for p in self._path.iterdir() if _PARTIAL.fullmatch(p.name)]
        now, removed = time.time(), 0
        for name in left:
            with contextlib.suppress(FileNotFoundError):
                if now - (self._path / name).stat().st_mtime > ABANDONED:
                    await self.remove(name)
                    removed += 1
        return removed

    @contextlib.contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TalopsError(
                f"cannot read: {error.strerror}",
                where=str(path),
                hint="check store: of backup: in cluster.yaml, and permissions",
            ) from error


class _Incoming:
    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.file = file
        self._path = path

    async def keep(self, name: str, sha256: str) -> None:  # noqa: ARG002  (the file was read back already)
        with writing(self._path.with_name(name)):
            self.file.flush()
            await asyncio.to_thread(os.fsync, self.file.fileno())
            self._path.replace(self._path.with_name(name))
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _drop(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _without_manifest(name: str, names: dict[str, int]) -> bool:
    stem = name.removesuffix(DATA)
    return name.endswith(DATA) and is_id(stem) and stem + MANIFEST not in names

"""Read an encrypted file back before it counts: every byte of it, and every object in it."""

from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

from talops.backups.contents import read_contents
from talops.secrets.age_stream import AgeReader

if TYPE_CHECKING:
    from talops.backups.contents import Contents
    from talops.secrets.age import KeyRing

_PIECE = 1 << 20


@dataclass(frozen=True)
class ReadBack:
    """`sha256` is that of the encrypted file, as the disk returns it."""

    contents: Contents
    sha256: str


def read_back(file: IO[bytes], keys: KeyRing, where: str) -> ReadBack:
    """Opened as a restore would: decrypted, and every key read. Beside that, in a thread, every
    byte is hashed and proven to be what was encrypted, also where the database has no objects.
    """
    with ThreadPoolExecutor(1) as beside:
        sha256 = beside.submit(_every_byte, file.fileno(), keys, where)
        reader = AgeReader(file, keys, where)
        contents = read_contents(reader.read_at, reader.size, where)
        return ReadBack(contents, sha256.result())


def _every_byte(handle: int, keys: KeyRing, where: str) -> str:
    with io.BufferedReader(_ByPosition(handle), _PIECE) as own:
        file = cast("IO[bytes]", own)
        found = hashlib.sha256()
        while piece := file.read(_PIECE):
            found.update(piece)
        for _ in AgeReader(file, keys, where).pieces():
            pass
    return found.hexdigest()


class _ByPosition(io.RawIOBase):
    """The same file with a position of its own."""

    def __init__(self, handle: int) -> None:
        self._handle, self._at = handle, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = os.pread(self._handle, len(memoryview(buffer)), self._at)
        memoryview(buffer)[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}
        start = os.fstat(self._handle).st_size if whence == os.SEEK_END else base[whence]
        self._at = start + offset
        return self._at

"""Encrypt a stream for age recipients, and read any part of such a file: in bounded memory.

The payload of age is a sequence of chunks of 64 KiB, each with a tag of its own, so that plain text
is never needed as a whole: a writer holds one chunk, a reader a few of them.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import IO, TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from talops.secrets.age_header import FILE_KEY, NotAgeError, derive, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from talops.secrets.age import KeyRing

CHUNK = 64 * 1024
_TAG = 16
_NONCE = 16
_SEALED = CHUNK + _TAG
# Chunks that a reader holds in plain text.
_HELD = 128


class AgeWriter:
    """Passes the encrypted form of what is added to `write`."""

    def __init__(self, write: Callable[[bytes], object], recipients: Iterable[str]) -> None:
        file_key, nonce = os.urandom(FILE_KEY), os.urandom(_NONCE)
        self._cipher = ChaCha20Poly1305(derive(file_key, nonce, b"payload"))
        self._write = write
        self._held = bytearray()
        self._number = 0
        write(seal(file_key, recipients) + nonce)

    def add(self, piece: bytes | memoryview) -> None:
        """The last chunk is marked, so a full one waits until it is known not to be the last."""
        with memoryview(piece) as view:
            start = 0
            if self._held:
                start = min(CHUNK - len(self._held), len(view))
                self._held += view[:start]
                if start == len(view):
                    return
                self._seal(self._held, last=False)
                self._held.clear()
            end = start + (len(view) - start - 1) // CHUNK * CHUNK
            for at in range(start, end, CHUNK):
                self._seal(view[at : at + CHUNK], last=False)
            self._held += view[max(end, start) :]

    def finish(self) -> None:
        self._seal(self._held, last=True)
        self._held.clear()

    def _seal(self, chunk: bytearray | memoryview, *, last: bool) -> None:
        self._write(self._cipher.encrypt(_nonce(self._number, last=last), chunk, None))
        self._number += 1


class AgeReader:
    """The plain text of an encrypted file, by position; only chunks that are asked for are read."""

    def __init__(self, file: IO[bytes], keys: KeyRing, where: str) -> None:
        self._file, self._where = file, where
        file.seek(0, os.SEEK_END)
        end = file.tell()
        file.seek(0)
        file_key = unseal(file, keys, where)
        nonce = file.read(_NONCE)
        self._start = file.tell()
        self._cipher = ChaCha20Poly1305(derive(file_key, nonce, b"payload"))
        sealed = end - self._start
        self._chunks = max(-(-sealed // _SEALED), 1)
        self.size = sealed - self._chunks * _TAG
        if len(nonce) < _NONCE or self.size < 0:
            raise self._damaged()
        self._held: OrderedDict[int, bytes] = OrderedDict()

    def pieces(self) -> Iterator[bytes]:
        """Everything from start to end."""
        for number in range(self._chunks):
            yield self._open(number)

    def read_at(self, start: int, size: int) -> bytes:
        """These bytes; fewer at the end of the file."""
        end = min(start + size, self.size)
        first, last = start // CHUNK, (end - 1) // CHUNK
        if first == last:
            return self._chunk(first)[start - first * CHUNK : end - first * CHUNK]
        found = b"".join(self._chunk(number) for number in range(first, last + 1))
        return found[start - first * CHUNK : end - first * CHUNK]

    def _chunk(self, number: int) -> bytes:
        known = self._held.get(number)
        if known is None:
            known = self._held[number] = self._open(number)
            if len(self._held) > _HELD:
                self._held.popitem(last=False)
        else:
            self._held.move_to_end(number)
        return known

    def _open(self, number: int) -> bytes:
        self._file.seek(self._start + number * _SEALED)
        sealed = self._file.read(_SEALED)
        try:
            nonce = _nonce(number, last=number == self._chunks - 1)
            return self._cipher.decrypt(nonce, sealed, None)
        except InvalidTag:
            raise self._damaged() from None

    def _damaged(self) -> NotAgeError:
        return NotAgeError("this encrypted file is damaged or truncated", where=self._where)


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])

"""Reads the latest keys of an etcd snapshot: a bbolt file with its SHA-256 at the end.

Restoring by content instead of by file keeps the lab free of etcd's offline tool; revisions start
again, which is what API servers expect after a restore anyway.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from talops.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = 0xED0CDAED
_PAGE_HEADER = struct.Struct("<QHHI")
_META = struct.Struct("<IIIIQQQQQ")  # magic, version, page size, flags, root, seq, freelist, …
_BRANCH_ELEMENT = struct.Struct("<IIQ")
_LEAF_ELEMENT = struct.Struct("<IIII")
_BUCKET_HEADER = struct.Struct("<QQ")
_BRANCH, _LEAF, _BUCKET = 0x01, 0x02, 0x01
_DIGEST, _SECTOR = 32, 512
# A revision key is main(8) "_" sub(8), with a trailing "t" when the key was deleted.
_TOMBSTONE_LENGTH = 18


def read_snapshot(data: bytes, *, skip_hash_check: bool = False) -> dict[bytes, bytes]:
    """The live keys and values, in no particular order."""
    database = data
    if len(data) % _SECTOR == _DIGEST:
        database, digest = data[:-_DIGEST], data[-_DIGEST:]
        if not skip_hash_check and hashlib.sha256(database).digest() != digest:
            raise ConflictError("snapshot file is corrupted: hash does not match")
    elif not skip_hash_check:
        raise ConflictError("snapshot missing hash but --skip-hash-check=false")
    return _latest(_Bolt(database).bucket(b"key"))


def _latest(revisions: Iterator[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for revision, encoded in revisions:  # ordered by revision, so the last one wins
        key, value = _key_value(encoded)
        if len(revision) == _TOMBSTONE_LENGTH:
            found.pop(key, None)
        else:
            found[key] = value
    return found


def _key_value(encoded: bytes) -> tuple[bytes, bytes]:
    """mvccpb.KeyValue: key is field 1, value field 5; all others are varints."""
    key = value = b""
    position = 0
    while position < len(encoded):
        tag, position = _varint(encoded, position)
        size, position = _varint(encoded, position)
        if tag & 7 == 2:  # noqa: PLR2004  (wire type: length-delimited)
            content = encoded[position : position + size]
            position += size
            key, value = (content, value) if tag >> 3 == 1 else (key, content)
    return key, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the last byte of a varint has no high bit)
            return result, position
        shift += 7


class _Bolt:
    """The part of bbolt that is needed to read one bucket from start to end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._page_size, self._root = self._newest_meta()

    def bucket(self, name: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key, value, flags in self._walk(self._root):
            if key == name and flags & _BUCKET:
                root, _ = _BUCKET_HEADER.unpack_from(value)
                inline = value[_BUCKET_HEADER.size :]
                elements = self._walk(root) if root else self._page(inline)
                return ((k, v) for k, v, _ in elements)
        raise ConflictError(f"snapshot holds no bucket {name.decode()!r}")

    def _newest_meta(self) -> tuple[int, int]:
        best: tuple[int, int, int] | None = None
        for page_size in (4096, 8192, 16384, 65536):
            for offset in (0, page_size):
                found = self._meta(offset + _PAGE_HEADER.size)
                if found and found[1] == page_size and (best is None or found > best):
                    best = found
        if best is None:
            raise ConflictError("snapshot is not an etcd database")
        return best[1], best[2]

    def _meta(self, offset: int) -> tuple[int, int, int] | None:
        if offset + _META.size > len(self._data):
            return None
        magic, _, page_size, _, root, _, _, _, transaction = _META.unpack_from(self._data, offset)
        return (transaction, page_size, root) if magic == _MAGIC else None

    def _walk(self, page: int) -> Iterator[tuple[bytes, bytes, int]]:
        start = page * self._page_size
        _, _, _, overflow = _PAGE_HEADER.unpack_from(self._data, start)
        yield from self._page(self._data[start : start + (overflow + 1) * self._page_size])

    def _page(self, page: bytes) -> Iterator[tuple[bytes, bytes, int]]:
        _, kind, count, _ = _PAGE_HEADER.unpack_from(page)
        for index in range(count):
            at = _PAGE_HEADER.size + index * _LEAF_ELEMENT.size
            if kind & _BRANCH:
                yield from self._walk(_BRANCH_ELEMENT.unpack_from(page, at)[2])
            elif kind & _LEAF:
                flags, position, key_size, value_size = _LEAF_ELEMENT.unpack_from(page, at)
                key = at + position
                value = key + key_size
                yield page[key:value], page[value : value + value_size], flags

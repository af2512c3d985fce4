"""Reads a bbolt database by position, from the last key to the first.

Pure Python, because the plain database must not touch a disk: etcd's own tools map a file, this
reader asks for one page after the other, which may come out of an encrypted file. The format is
that of go.etcd.io/bbolt (page.go, meta.go); every page is checked before it is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from talops.errors import TalopsError

ReadAt = Callable[[int, int], bytes]

_MAGIC, _VERSION = 0xED0CDAED, 2
_HEADER = struct.Struct("<QHHI")  # page number, kind, elements, pages that follow
_META = struct.Struct("<IIIIQQQQQQ")  # magic, version, page size, flags, root, sequence, …
_BRANCH_ELEMENT, _LEAF_ELEMENT = struct.Struct("<IIQ"), struct.Struct("<IIII")
_ROOT = struct.Struct("<QQ")
_BRANCH, _LEAF, _BUCKET = 0x01, 0x02, 0x01
_PAGE_SIZES = (4096, 8192, 16384, 32768, 65536)
_DEEPEST = 32
# A page with all values that overflow it: etcd refuses larger requests long before.
_LARGEST_PAGE = 256 << 20

Item = tuple[bytes, bytes, int]


class DamagedError(TalopsError):
    """The database is not whole; restoring it would lose data."""


@dataclass(frozen=True)
class _Meta:
    page_size: int
    root: int
    pages: int
    transaction: int


class Bolt:
    """One database, at its newest transaction."""

    def __init__(self, read_at: ReadAt, size: int, where: str) -> None:
        self._read_at, self._size, self._where = read_at, size, where
        self._meta = self._newest()
        if self._meta.pages * self._meta.page_size > size:
            raise self.damaged(
                f"{self._meta.pages} pages of {self._meta.page_size} bytes do not fit in "
                f"{size} bytes"
            )

    def damaged(self, why: str) -> DamagedError:
        return DamagedError(
            f"the etcd database is damaged: {why}",
            where=self._where,
            hint="use another backup: talops backup list",
        )

    def bucket(self, name: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, the last key first."""
        for key, value, flags in self._walk(self._meta.root, 0):
            if key == name and flags & _BUCKET:
                if len(value) < _ROOT.size:
                    break
                root, _ = _ROOT.unpack_from(value)
                inline = value[_ROOT.size :]
                items = self._walk(root, 0) if root else self._items(inline, 0, inline=True)
                return ((k, v) for k, v, _ in items)
        raise self.damaged(f"it has no bucket {name.decode()}")

    def _newest(self) -> _Meta:
        found = [
            meta for size in _PAGE_SIZES for at in (0, size) if (meta := self._meta_at(at, size))
        ]
        if not found:
            raise DamagedError("not an etcd database", where=self._where)
        return max(found, key=lambda meta: meta.transaction)

    def _meta_at(self, at: int, page_size: int) -> _Meta | None:
        """None if this page is not a valid meta page."""
        data = self._read_at(at + _HEADER.size, _META.size) if at < self._size else b""
        if len(data) < _META.size:
            return None
        magic, version, size, _, root, _, _, pages, transaction, checksum = _META.unpack(data)
        right = (magic, version, size) == (_MAGIC, _VERSION, page_size)
        if not right or _fnv(data[:-8]) != checksum:
            return None
        return _Meta(size, root, pages, transaction)

    def _walk(self, number: int, depth: int) -> Iterator[Item]:
        page = self._page(number)
        if depth > _DEEPEST:
            raise self.damaged(f"page {number} is too deep")
        kind = _HEADER.unpack_from(page)[1]
        if kind & _LEAF:
            yield from self._items(page, number)
        elif kind & _BRANCH:
            for child in reversed(self._children(page, number)):
                yield from self._walk(child, depth + 1)
        else:
            raise self.damaged(f"page {number} is neither a branch nor a leaf")

    def _page(self, number: int) -> bytes:
        size = self._meta.page_size
        if not 1 < number < self._meta.pages:
            raise self.damaged(f"page {number} does not exist")
        page = self._read_at(number * size, size)
        if len(page) < size:
            raise self.damaged(f"page {number} is missing")
        own, _, _, more = _HEADER.unpack_from(page)
        if own != number:
            raise self.damaged(f"page {number} says that it is page {own}")
        if not more:
            return page
        if number + more >= self._meta.pages or more * size > _LARGEST_PAGE:
            raise self.damaged(f"page {number} is longer than the database")
        return self._read_at(number * size, (more + 1) * size)

    def _children(self, page: bytes, number: int) -> list[int]:
        count = _HEADER.unpack_from(page)[2]
        end = _HEADER.size + count * _BRANCH_ELEMENT.size
        if not count or end > len(page):
            raise self.damaged(f"page {number} has {count} children")
        return [child for _, _, child in _BRANCH_ELEMENT.iter_unpack(page[_HEADER.size : end])]

    def _items(self, page: bytes, number: int, *, inline: bool = False) -> Iterator[Item]:
        _, kind, count, _ = _HEADER.unpack_from(page) if len(page) >= _HEADER.size else (0,) * 4
        end = _HEADER.size + count * _LEAF_ELEMENT.size
        if not kind & _LEAF or end > len(page):
            raise self.damaged(f"page {number} has {count} keys" + " inside" * inline)
        elements = list(_LEAF_ELEMENT.iter_unpack(page[_HEADER.size : end]))
        for index in range(count - 1, -1, -1):
            flags, offset, keys, values = elements[index]
            key = _HEADER.size + index * _LEAF_ELEMENT.size + offset
            value = key + keys
            if value + values > len(page):
                raise self.damaged(f"a key of page {number} ends outside of it")
            yield page[key:value], page[value : value + values], flags


def _fnv(data: bytes) -> int:
    """FNV-1a, 64 bits: the checksum of a meta page."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value

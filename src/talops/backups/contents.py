"""What an etcd database contains: live keys by kind, each kind with a hash. Pure.

etcd keeps every revision of a key. Read from the last one to the first, the first that is seen of a
key decides whether it exists, so that only names of keys are held, not their values.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.backups.bolt import Bolt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.backups.bolt import ReadAt

DIGEST = 32  # etcd appends the SHA-256 of the database to a snapshot
_SECTOR = 512
# A revision is main(8) "_" sub(8), and "t" if the key was deleted.
_REVISION, _TOMBSTONE = 17, 18
_LENGTH_DELIMITED = 2
_KEY, _VALUE = 1, 5
_LAST_BYTE = 0x80


@dataclass(frozen=True)
class Kind:
    """Objects of one kind; the hash is independent of their order."""

    count: int
    hash: str


@dataclass(frozen=True)
class Contents:
    """`storage_version` is empty before etcd 3.6 has written it."""

    kinds: dict[str, Kind]
    revision: int
    revisions: int
    storage_version: str

    @property
    def keys(self) -> int:
        return sum(kind.count for kind in self.kinds.values())


class Tally:
    """Counts objects by kind, and adds their hashes, in any order."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._sums: dict[str, int] = defaultdict(int)

    def add(self, key: bytes, value: bytes) -> None:
        kind = kind_of(key)
        self._counts[kind] += 1
        self._sums[kind] += _digest(key, value)

    def kinds(self) -> dict[str, Kind]:
        return {
            name: Kind(count, f"{self._sums[name] % 2**256:064x}")
            for name, count in sorted(self._counts.items())
        }


def read_contents(read_at: ReadAt, size: int, where: str) -> Contents:
    """Raises DamagedError unless all of it can be read; a digest at its end is left out."""
    database = size - DIGEST if size % _SECTOR == DIGEST else size
    bolt = Bolt(read_at, database, where)
    tally, newest, revisions = Tally(), 0, 0
    for main, key, value in _live(bolt):
        newest, revisions = max(newest, main), revisions + 1
        if key is not None:
            tally.add(key, value)
    return Contents(tally.kinds(), newest, revisions, _storage_version(bolt))


def live_objects(read_at: ReadAt, size: int, where: str) -> Iterator[tuple[bytes, bytes]]:
    """Every key that exists, with its value."""
    database = size - DIGEST if size % _SECTOR == DIGEST else size
    for _, key, value in _live(Bolt(read_at, database, where)):
        if key is not None:
            yield key, value


def _live(bolt: Bolt) -> Iterator[tuple[int, bytes | None, bytes]]:
    """Every revision; its key and value only if this revision is what exists."""
    seen: set[bytes] = set()
    last = b"\xff"
    for revision, encoded in bolt.bucket(b"key"):
        if len(revision) not in {_REVISION, _TOMBSTONE} or revision[8:9] != b"_":
            raise bolt.damaged("a revision has another form")
        if revision >= last:
            raise bolt.damaged("its revisions are not in order")
        last = revision
        main = int.from_bytes(revision[:8], "big")
        try:
            key, value = _key_value(encoded)
        except (IndexError, ValueError):
            raise bolt.damaged(f"revision {main} cannot be read") from None
        name = hashlib.blake2b(key, digest_size=16).digest()
        if name in seen:
            yield main, None, b""
            continue
        seen.add(name)
        deleted = len(revision) == _TOMBSTONE
        yield main, None if deleted else key, value


def kind_of(key: bytes) -> str:
    """`/registry/pods/default/a` is a pod; the group of custom resources is a part of its own."""
    parts = key.decode(errors="replace").split("/")
    if len(parts) < 4 or parts[0] or parts[1] != "registry":  # noqa: PLR2004  ("", registry, kind, name)
        return "other"
    if "." in parts[2]:
        return f"{parts[3]}.{parts[2]}" if len(parts) > 4 else parts[2]  # noqa: PLR2004
    return f"{parts[2]}/{parts[3]}" if parts[2] == "services" else parts[2]


def _digest(key: bytes, value: bytes) -> int:
    found = hashlib.sha256(len(key).to_bytes(8, "big") + key)
    found.update(value)
    return int.from_bytes(found.digest(), "big")


def _key_value(encoded: bytes) -> tuple[bytes, bytes]:
    """mvccpb.KeyValue: the key is field 1, the value field 5; all others are numbers."""
    key = value = b""
    at, end = 0, len(encoded)
    while at < end:
        tag, at = _varint(encoded, at)
        size, at = _varint(encoded, at)
        if tag & 7 != _LENGTH_DELIMITED:
            continue
        if at + size > end:
            raise ValueError("truncated")
        if tag >> 3 == _KEY:
            key = encoded[at : at + size]
        elif tag >> 3 == _VALUE:
            value = encoded[at : at + size]
        at += size
    return key, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < _LAST_BYTE:
        return byte, at + 1
    found = shift = 0
    while byte >= _LAST_BYTE:
        found |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        byte = data[at]
    return found | byte << shift, at + 1


def _storage_version(bolt: Bolt) -> str:
    for key, value in bolt.bucket(b"meta"):
        if key == b"storageVersion":
            return value.decode(errors="replace")
    return ""

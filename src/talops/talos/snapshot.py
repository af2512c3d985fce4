"""An etcd snapshot: complete and verified, or not written at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from talops.errors import TalopsError
from talops.files import PRIVATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

PIECE = 1 << 20
_DIGEST = 32  # etcd appends the SHA-256 of the database, whose own size is a multiple of 512
_PAGE = 512


@dataclass(frozen=True)
class Snapshot:
    path: Path
    size: int
    sha256: str


class SnapshotDigest:
    """Reads the pieces of a snapshot once and knows whether it is complete."""

    def __init__(self) -> None:
        self.size = 0
        self._tail = b""
        self._database = hashlib.sha256()

    def add(self, piece: bytes | memoryview) -> None:
        self.size += len(piece)
        # The last 32 bytes are the digest; which bytes these are is known only at the end.
        if len(piece) < _DIGEST:
            piece = self._tail + bytes(piece)
        else:
            self._database.update(self._tail)
        with memoryview(piece) as view:
            self._database.update(view[:-_DIGEST])
        self._tail = bytes(piece[-_DIGEST:])

    @property
    def whole(self) -> bool:
        return self.size % _PAGE == _DIGEST and self._database.digest() == self._tail

    @property
    def sha256(self) -> str:
        """Of everything: what is known of the database goes on with the digest at its end."""
        everything = self._database.copy()
        everything.update(self._tail)
        return everything.hexdigest()


class SnapshotWriter:
    """Collects a snapshot in a temporary file, and renames it when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checker = SnapshotDigest()

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        except OSError as error:
            raise self._cannot(error) from error
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")
        os.fchmod(handle, PRIVATE)  # it holds every Kubernetes secret
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._temporary.unlink()

    def add(self, piece: bytes) -> None:
        try:
            self._file.write(piece)
        except OSError as error:
            raise self._cannot(error) from error
        self._checker.add(piece)

    def finish(self) -> Snapshot:
        if not self._checker.whole:
            raise TalopsError(
                f"the snapshot is damaged or truncated after {self._checker.size} bytes",
                where=str(self._path),
                hint="take it again; the file was not written",
            )
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._temporary.replace(self._path)
        except OSError as error:
            raise self._cannot(error) from error
        return Snapshot(self._path, self._checker.size, self._checker.sha256)

    def _cannot(self, error: OSError) -> TalopsError:
        return TalopsError(
            f"cannot write: {error.strerror}",
            where=str(self._path),
            hint="check free space and permissions, then run the same command again",
        )


def check(path: Path) -> None:
    """Raise unless the file is a complete snapshot, with the digest that etcd put at its end."""
    checker = SnapshotDigest()
    for piece in pieces_of(path):
        checker.add(piece)
    if not checker.whole:
        raise TalopsError(
            "not a complete etcd snapshot: its digest does not match",
            where=str(path),
            hint="a database file copied from a node has none: add --from-copy",
        )


def pieces_of(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece
    except OSError as error:
        raise TalopsError(f"cannot read: {error.strerror}", where=str(path)) from error

"""The state of a host: typed tables, stored in SQLite and mirrored in RAM.

Reads never touch the disk. Writes gather in one transaction that the server commits at the end of
each call and each task step, so a killed lab restarts with the state after a complete step.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")


class Store:
    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        # A killed process loses nothing with these settings; a power cut may, which a lab accepts.
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS document"
            " (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID"
        )
        self._open = False
        self.generation = 0

    def read(self, kind: str) -> Iterator[tuple[str, Any]]:
        rows = self._db.execute("SELECT id, body FROM document WHERE kind = ?", (kind,))
        for key, body in rows:
            yield key, json.loads(body)

    def write(self, kind: str, key: str, body: Any | None) -> None:
        if not self._open:
            self._db.execute("BEGIN")
            self._open = True
        self.generation += 1
        if body is None:
            self._db.execute("DELETE FROM document WHERE kind = ? AND id = ?", (kind, key))
            return
        self._db.execute(
            "INSERT INTO document VALUES (?, ?, ?)"
            " ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
            (kind, key, json.dumps(body, separators=(",", ":"))),
        )

    def commit(self) -> None:
        if self._open:
            self._db.execute("COMMIT")
            self._open = False

    def close(self) -> None:
        self.commit()
        self._db.close()


class Table(Generic[T]):
    """Objects of one kind, by key. Values are replaced, never changed in place."""

    def __init__(
        self, store: Store, kind: str, decode: Callable[[Any], T], encode: Callable[[T], Any]
    ) -> None:
        self._store = store
        self._kind = kind
        self._encode = encode
        self._rows: dict[str, T] = {key: decode(body) for key, body in store.read(kind)}

    def get(self, key: str) -> T | None:
        return self._rows.get(key)

    def __getitem__(self, key: str) -> T:
        return self._rows[key]

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> list[str]:
        return sorted(self._rows)

    def values(self) -> list[T]:
        return list(self._rows.values())

    def items(self) -> list[tuple[str, T]]:
        return list(self._rows.items())

    def put(self, key: str, value: T) -> None:
        self._rows[key] = value
        self._store.write(self._kind, key, self._encode(value))

    def drop(self, key: str) -> None:
        if self._rows.pop(key, None) is not None:
            self._store.write(self._kind, key, None)


Document = dict[str, Any]


def documents(store: Store, kind: str) -> Table[Document]:
    """A table whose rows are plain JSON objects: what Proxmox keeps as sections of a file."""
    return Table(store, kind, lambda body: body, lambda row: row)

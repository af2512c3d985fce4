"""The connection of the writer and its cached heads: the only writer of this database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.statestore.sqlite.schema import HEAD_QUERY, head_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from talops.statestore.model import AuditEntry, Head

REMEMBERED = 10_000
_HEAD = HEAD_QUERY + "WHERE s.name = ?"


class Ledger:
    """Heads as of the running transaction; discarded if it fails."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.execute = connection.execute
        self._heads: dict[str, Head] = {}
        # What the running transaction did: becomes a block of the audit with its commit.
        self.noted: list[AuditEntry] = []

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(statement, rows)

    def head(self, state: str) -> Head:
        found = self._heads.get(state)
        if found is None:
            found = head_of(self.execute(_HEAD, (state,)).fetchone())
            self.remember(state, found)
        return found

    def remember(self, state: str, head: Head) -> None:
        if len(self._heads) >= REMEMBERED:
            self._heads.clear()
        self._heads[state] = head

    def forget(self) -> None:
        self._heads.clear()
        self.noted.clear()

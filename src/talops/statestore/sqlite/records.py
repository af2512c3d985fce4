"""The audit chain in the database: a block for each commit that has something to record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.statestore.audit.chain import Block, Mark, link
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from talops.statestore.audit.chain import Signer
    from talops.statestore.sqlite.ledger import Ledger

_COLUMNS = "number, previous, content, hash, signature"
_INSERT = f"INSERT INTO audit_block ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608
BLOCKS = f"SELECT {_COLUMNS} FROM audit_block WHERE number > ? ORDER BY number LIMIT ?"  # noqa: S608
NEWEST = f"SELECT {_COLUMNS} FROM audit_block ORDER BY number DESC LIMIT ?"  # noqa: S608
HEAD = "SELECT number, hash FROM audit_head"
_SET_HEAD = """INSERT INTO audit_head (id, number, hash) VALUES (1, ?, ?) ON CONFLICT (id)
DO UPDATE SET number = excluded.number, hash = excluded.hash"""
_OLD = "SELECT at, who, origin, action, state, detail FROM audit ORDER BY id"


class Chain:
    """The end of the chain; only the writer of the database appends to it."""

    def __init__(self, connection: sqlite3.Connection, signer: Signer | None) -> None:
        self._signer = signer
        self._before = self.last = _end(connection)

    def append(self, db: Ledger, entries: Sequence[AuditEntry]) -> None:
        """Inside the transaction of what the entries report."""
        self._before = self.last
        block = link(self.last, entries, self._signer)
        values = (block.number, block.previous, block.content, block.hash, block.signature)
        db.execute(_INSERT, values)
        db.execute(_SET_HEAD, (block.number, block.hash))
        self.last = block.mark

    def undo(self) -> None:
        """The transaction failed."""
        self.last = self._before

    def done(self) -> None:
        self._before = self.last


def take_old(db: Ledger) -> None:
    """Entries of servers without a chain become part of it."""
    rows = db.execute(_OLD).fetchall()
    if rows:
        db.noted.extend(AuditEntry(*row) for row in rows)
        db.execute("DELETE FROM audit")


def _end(connection: sqlite3.Connection) -> Mark:
    row = connection.execute(NEWEST, (1,)).fetchone()
    last = Block(*row).mark if row else Mark()
    known = connection.execute(HEAD).fetchone()
    if known and Mark(*known) != last:
        raise ConflictError(
            f"the audit ends with block {last.number}, but block {known[0]} was written",
            hint="blocks were removed: restore the store from a backup, and compare the audit with "
            "what talops state audit verify has seen",
        )
    return last

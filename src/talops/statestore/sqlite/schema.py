"""The tables, and opening the database."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.statestore.model import Head, Lock, Version

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 2
SCHEMA = """
CREATE TABLE IF NOT EXISTS state (
  name TEXT PRIMARY KEY, lock_id TEXT, lock_info BLOB, released TEXT NOT NULL DEFAULT '',
  number INTEGER NOT NULL DEFAULT 0, current INTEGER,
  lock_owner TEXT NOT NULL DEFAULT '', lock_expires REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS version (
  state TEXT NOT NULL, number INTEGER NOT NULL, serial INTEGER NOT NULL, lineage TEXT NOT NULL,
  size INTEGER NOT NULL, md5 TEXT NOT NULL, who TEXT NOT NULL, origin TEXT NOT NULL,
  at REAL NOT NULL, lock_id TEXT NOT NULL, note TEXT NOT NULL, sealed_key TEXT NOT NULL,
  blob TEXT NOT NULL, body BLOB,
  PRIMARY KEY (state, number)
);
CREATE INDEX IF NOT EXISTS version_blob ON version (blob) WHERE blob <> '';
CREATE TABLE IF NOT EXISTS audit (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, origin TEXT NOT NULL,
  action TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS audit_block (
  number INTEGER PRIMARY KEY, previous TEXT NOT NULL, content TEXT NOT NULL, hash TEXT NOT NULL,
  signature TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, hash TEXT NOT NULL
);
"""
# The locks of servers before schema 2 have no owner and no end. Their table `audit` is moved into
# the first block of the chain.
_TO_2 = {
    "lock_owner": "ALTER TABLE state ADD COLUMN lock_owner TEXT NOT NULL DEFAULT ''",
    "lock_expires": "ALTER TABLE state ADD COLUMN lock_expires REAL NOT NULL DEFAULT 0",
}
VERSION_COLUMNS = (
    "number, serial, lineage, size, md5, who, origin, at, lock_id, note, sealed_key, blob"
)
_QUALIFIED = ", ".join(f"v.{column}" for column in VERSION_COLUMNS.split(", "))
# The head of a state and its newest version in one query.
HEAD_QUERY = f"""
SELECT s.lock_id, s.lock_info, s.lock_owner, s.lock_expires, s.released, s.number, s.current,
  {_QUALIFIED}
FROM state s LEFT JOIN version v ON v.state = s.name AND v.number = s.current
"""  # noqa: S608  (constants only)
LATEST_QUERY = f"""
SELECT v.body, {_QUALIFIED}
FROM state s JOIN version v ON v.state = s.name AND v.number = s.current WHERE s.name = ?
"""  # noqa: S608  (constants only)
NUMBERED_QUERY = f"SELECT v.body, {_QUALIFIED} FROM version v WHERE v.state = ? AND v.number = ?"  # noqa: S608


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose COMMIT returns only after the data is on disk."""
    connection = sqlite3.connect(
        path, check_same_thread=False, isolation_level=None, cached_statements=64
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    # Checkpoints cost a sync of the database file: fewer, larger ones.
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA cache_size = -16000")
    return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > SCHEMA_VERSION:
        raise TalopsError(
            f"the state database was written by a newer talops (schema {found})",
            where=str(path),
            hint="upgrade talops",
        )
    if found == 1:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(state)")}
        for column, statement in _TO_2.items():
            if column not in columns:
                connection.execute(statement)
    connection.executescript(SCHEMA)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def head_of(row: tuple[Any, ...] | None) -> Head:
    """A row of HEAD_QUERY; an unused state has an empty head."""
    if row is None:
        return Head()
    lock_id, lock_info, owner, expires, released, number, current, *version = row
    return Head(
        Lock(lock_id, lock_info, owner, expires) if lock_id else None,
        tuple(released.split()),
        number,
        Version(*version) if current is not None else None,
    )

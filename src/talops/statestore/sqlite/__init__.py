"""The embedded store: one SQLite database for heads and small bodies, files for large bodies."""

from __future__ import annotations

from talops.statestore.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]

"""The shared store: several stateless servers on one PostgreSQL database."""

from __future__ import annotations

from talops.statestore.postgres.store import PostgresStore

__all__ = ["PostgresStore"]

"""The SQLite store: one directory, owned by one server at a time."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.files import PRIVATE, make_private_directory
from talops.statestore.audit.chain import Block, Mark, newest
from talops.statestore.model import Outcome, Stored, Summary, Version
from talops.statestore.sqlite import changes, records
from talops.statestore.sqlite.blobs import Blobs
from talops.statestore.sqlite.commits import GroupCommit
from talops.statestore.sqlite.schema import (
    HEAD_QUERY,
    LATEST_QUERY,
    NUMBERED_QUERY,
    VERSION_COLUMNS,
    connect,
    head_of,
    prepare,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.statestore.audit.chain import Signer
    from talops.statestore.model import Actor, AuditEntry, Draft, Fence, Lock, Retention
    from talops.statestore.sqlite.blobs import FileStaging


class SqliteStore:
    def __init__(self, directory: Path, signer: Signer | None = None) -> None:
        self._directory = make_private_directory(directory)
        self._owner = _own(directory / "owner.lock")
        path = directory / "states.db"
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
            self._writer = connect(path)
            prepare(self._writer, path)
            # Sees only committed data.
            self._reader = connect(path)
            self._reader.execute("PRAGMA query_only = ON")
        except (OSError, sqlite3.Error) as error:
            raise TalopsError(
                f"cannot open the state database: {error}",
                where=str(path),
                hint="check the disk; to restore a backup: talops state restore",
            ) from error
        self._commits = GroupCommit(self._writer, signer)
        self._old_audit = bool(self._one("SELECT 1 FROM audit LIMIT 1", ()))
        self._blobs = Blobs(directory / "blobs")

    async def lock(
        self,
        state: str,
        wanted: Lock,
        entry: AuditEntry | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        now = time.time()
        return await self._commits.run(
            partial(changes.lock, state=state, wanted=wanted, entry=entry, now=now, fence=fence)
        )

    async def unlock(
        self,
        state: str,
        lock_id: str | None,
        entry: AuditEntry | None = None,
        by: str | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        return await self._commits.run(
            partial(changes.unlock, state=state, lock_id=lock_id, entry=entry, by=by, fence=fence)
        )

    async def write(self, state: str, draft: Draft) -> Outcome:
        return await self._commits.run(partial(changes.write, state=state, draft=draft))

    async def rollback(self, state: str, number: int, draft: Draft) -> Outcome:
        return await self._commits.run(
            partial(changes.rollback, state=state, number=number, draft=draft)
        )

    async def delete(self, state: str, actor: Actor, at: float) -> Outcome:
        return await self._commits.run(partial(changes.delete, state=state, actor=actor, at=at))

    async def read(self, state: str, number: int | None = None) -> Stored | None:
        if number is None:
            row = self._one(LATEST_QUERY, (state,))
        else:
            row = self._one(NUMBERED_QUERY, (state, number))
        return Stored(Version(*row[1:]), row[0]) if row else None

    def stream(self, blob: str) -> AsyncIterator[bytes]:
        return self._blobs.stream(blob)

    async def stage(self) -> FileStaging:
        return await self._blobs.stage()

    async def discard(self, blob: str) -> None:
        await asyncio.to_thread(self._blobs.remove, [blob])

    async def summary(self, state: str) -> Summary | None:
        row = self._one(HEAD_QUERY + "WHERE s.name = ?", (state,))
        return _summary(state, row) if row else None

    async def states(self) -> list[Summary]:
        query = HEAD_QUERY.replace("SELECT", "SELECT s.name,", 1) + "ORDER BY s.name"
        return [_summary(row[0], row[1:]) for row in self._all(query)]

    async def versions(self, state: str) -> list[Version]:
        query = f"SELECT {VERSION_COLUMNS} FROM version WHERE state = ? ORDER BY number DESC"  # noqa: S608
        return [Version(*row) for row in self._all(query, (state,))]

    async def rewrap(self, state: str, number: int, sealed_key: str) -> None:
        await self._commits.run(
            partial(changes.rewrap, state=state, number=number, sealed_key=sealed_key)
        )

    def note(self, entry: AuditEntry) -> None:
        self._commits.journal.note(entry)

    async def flush_audit(self) -> None:
        if self._old_audit:
            await self._commits.run(records.take_old)
            self._old_audit = False
        await self._commits.flush()

    async def audit(self, limit: int) -> list[AuditEntry]:
        await self.flush_audit()
        # A block contains at least one entry.
        rows = self._all(records.NEWEST, (limit,))
        return newest((Block(*row) for row in rows), limit)

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        await self.flush_audit()
        rows = self._all(records.BLOCKS, (after, limit))
        head = self._one(records.HEAD, ())
        return [Block(*row) for row in rows], Mark(*head) if head else Mark()

    async def prune(self, state: str, keep: Retention, now: float) -> int:
        count, blobs = await self._commits.run(
            partial(changes.prune, state=state, keep=keep, now=now)
        )
        await asyncio.to_thread(self._blobs.remove, blobs)
        return count

    async def sweep(self, now: float) -> int:
        named = {row[0] for row in self._all("SELECT blob FROM version WHERE blob <> ''")}
        orphans = self._blobs.orphans(named, now)
        await asyncio.to_thread(self._blobs.remove, orphans)
        return len(orphans)

    async def check(self) -> None:
        self._one("SELECT 1", ())

    async def close(self) -> None:
        with contextlib.suppress(UnreachableError):
            await self.flush_audit()
        await self._commits.close()
        self._reader.close()
        self._writer.close()
        os.close(self._owner)

    def _one(self, query: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        rows = self._all(query, values)
        return rows[0] if rows else None

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise UnreachableError(f"the state database failed: {error}") from error


def _summary(name: str, row: tuple[Any, ...]) -> Summary:
    head = head_of(row)
    return Summary(name, head.lock, head.current)


def _own(path: Path) -> int:
    """Two servers on one directory would not see each other's commits in time."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise ConflictError(
            "another state server already uses this directory",
            where=str(path.parent),
            hint="stop it first, or give this one its own directory",
        ) from error
    return handle

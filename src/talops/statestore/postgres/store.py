"""The PostgreSQL store; it has no state of its own between two requests."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import asyncpg

from talops.errors import UnreachableError
from talops.statestore import rules
from talops.statestore.model import (
    SERVER,
    AuditEntry,
    Lock,
    Outcome,
    OutcomeKind,
    Standing,
    Stored,
    Summary,
    Version,
)
from talops.statestore.postgres import statements as sql
from talops.statestore.postgres.failures import translated
from talops.statestore.postgres.parts import Parts
from talops.statestore.postgres.records import Records
from talops.statestore.store import ORPHAN_AGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.redaction import Secret
    from talops.statestore.audit.chain import Block, Mark, Signer
    from talops.statestore.model import Actor, Draft, Fence, Retention
    from talops.statestore.postgres.parts import PartStaging

CONNECTIONS = 10
TIMEOUT = 60.0
CONNECT_TIMEOUT = 10.0
REMEMBERED = 10_000


class PostgresStore:
    def __init__(self, pool: Any, lazy_pool: Any, records: Records) -> None:
        self._pool = pool
        self._records = records
        # The last number of each state that this server has seen, for the keys of new versions.
        self._numbers: dict[str, int] = {}
        self._lazy_pool = lazy_pool
        self._parts = Parts(pool, lazy_pool)

    @classmethod
    async def open(cls, address: Secret, signer: Signer | None = None) -> PostgresStore:
        async with contextlib.AsyncExitStack() as opened:
            with translated(starting=True):
                pool = await _pool(address, {})
                opened.push_async_callback(pool.close)
                # Parts of a body do not wait for the disk one by one: the statement that finishes
                # the blob does, and flushes the log before it.
                lazy_pool = await _pool(address, {"synchronous_commit": "off"})
                opened.push_async_callback(lazy_pool.close)
                async with pool.acquire() as connection, connection.transaction():
                    await connection.execute(sql.SCHEMA_LOCK)
                    await connection.execute(sql.SCHEMA)
            records = Records(pool, signer)
            await records.begin()
            opened.pop_all()
        return cls(pool, lazy_pool, records)

    async def lock(
        self,
        state: str,
        wanted: Lock,
        entry: AuditEntry | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        noted = (entry.at, entry.origin) if entry else (None, None)
        values = (wanted.id, wanted.info, wanted.owner, wanted.lease, *noted, *_fence(fence))
        outcome = await self._change(state, sql.LOCK, *values)
        if outcome.kind is OutcomeKind.DONE:
            return Outcome(OutcomeKind.DONE, wanted, outcome.current)
        return outcome

    async def unlock(
        self,
        state: str,
        lock_id: str | None,
        entry: AuditEntry | None = None,
        by: str | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        noted = (entry.at, entry.who, entry.origin, entry.action) if entry else (None,) * 4
        return await self._change(state, sql.UNLOCK, lock_id, *noted, by, *_fence(fence))

    async def write(self, state: str, draft: Draft) -> Outcome:
        """The key of an encrypted version is bound to its number, which is known only afterwards:
        it is made for the expected one, and again if another server was faster.
        """
        while True:
            number = self._numbers.get(state, 0) + 1
            values = (
                draft.serial,
                draft.lineage,
                draft.size,
                draft.md5,
                draft.actor.who,
                draft.actor.origin,
                draft.at,
                draft.lock_id,
                draft.note,
                draft.numbered(number).sealed_key,
                draft.blob,
                None if draft.blob else draft.body,
                draft.force,
                *_fence(draft.fence),
                number if draft.wrap else 0,
            )
            rows = await self._rows(state, sql.WRITE, *values)
            self._remember(state, rows[0])
            if rows[0]["verdict"] != "moved":
                return _outcome(rows[0])

    async def rollback(self, state: str, number: int, draft: Draft) -> Outcome:
        old = await self.read(state, number)
        if old is None:
            return Outcome(OutcomeKind.ABSENT)
        copy = draft.copying(old.version)
        while True:
            expected = self._numbers.get(state, 0) + 1
            self._records.changed()
            rows = await self._fetch(
                sql.ROLLBACK,
                state,
                number,
                draft.actor.who,
                draft.actor.origin,
                draft.at,
                draft.lock_id,
                draft.note,
                copy.numbered(expected).sealed_key if copy.wrap else None,
                *_fence(draft.fence),
                expected if copy.wrap else 0,
            )
            if not rows:
                return Outcome(OutcomeKind.ABSENT)
            self._remember(state, rows[0])
            if rows[0]["verdict"] != "moved":
                return _outcome(rows[0])

    async def delete(self, state: str, actor: Actor, at: float) -> Outcome:
        return await self._change(state, sql.DELETE, at, actor.who, actor.origin)

    async def read(self, state: str, number: int | None = None) -> Stored | None:
        if number is None:
            rows = await self._fetch(sql.LATEST, state)
        else:
            rows = await self._fetch(sql.NUMBERED, state, number)
        if not rows:
            return None
        body, *version = rows[0]
        return Stored(Version(*version), body)

    def stream(self, blob: str) -> AsyncIterator[bytes]:
        return self._parts.stream(blob)

    async def stage(self) -> PartStaging:
        return await self._parts.stage()

    async def discard(self, blob: str) -> None:
        self._parts.forget(blob)
        await self._fetch(sql.DISCARD, blob)

    async def summary(self, state: str) -> Summary | None:
        rows = await self._fetch(sql.SUMMARIES, state)
        return _summary(rows[0]) if rows else None

    async def states(self) -> list[Summary]:
        return [_summary(row) for row in await self._fetch(sql.SUMMARIES, None)]

    async def versions(self, state: str) -> list[Version]:
        return [Version(*row) for row in await self._fetch(sql.VERSIONS, state)]

    async def rewrap(self, state: str, number: int, sealed_key: str) -> None:
        await self._fetch(sql.REWRAP, state, number, sealed_key)

    def note(self, entry: AuditEntry) -> None:
        self._records.journal.note(entry)

    async def flush_audit(self) -> None:
        await self._records.flush()

    async def audit(self, limit: int) -> list[AuditEntry]:
        return await self._records.newest(limit)

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        return await self._records.blocks(after, limit)

    async def prune(self, state: str, keep: Retention, now: float) -> int:
        """The next sweep removes the parts of pruned versions: a client may be reading them."""
        gone = rules.expired(await self.versions(state), keep, now)
        if gone:
            await self._fetch(sql.PRUNE, state, [version.number for version in gone])
            detail = ", ".join(f"version {version.number}" for version in gone)
            self.note(AuditEntry(now, SERVER, "", "retention", state, detail))
        return len(gone)

    async def sweep(self, now: float) -> int:
        rows = await self._fetch(sql.SWEEP, now - ORPHAN_AGE)
        count: int = rows[0][0]
        return count

    async def check(self) -> None:
        await self._fetch("SELECT 1")

    async def close(self) -> None:
        self._parts.close()
        with contextlib.suppress(UnreachableError):
            await self._records.flush()
        for pool in (self._lazy_pool, self._pool):
            # A connection that was lost makes `close` fail, and must not keep the others open.
            with contextlib.suppress(UnreachableError), translated():
                await pool.close()

    async def _change(self, state: str, statement: str, *values: Any) -> Outcome:
        return _outcome((await self._rows(state, statement, *values))[0])

    async def _rows(self, state: str, statement: str, *values: Any) -> list[Any]:
        self._records.changed()
        rows = await self._fetch(statement, state, *values)
        if not rows:  # first use of this state
            await self._fetch(sql.ENSURE, state)
            rows = await self._fetch(statement, state, *values)
        return rows

    def _remember(self, state: str, row: Any) -> None:
        """The last number after a write."""
        if len(self._numbers) >= REMEMBERED:
            self._numbers.clear()
        self._numbers[state] = row["number"] + (row["verdict"] == "done")

    async def _fetch(self, statement: str, *values: Any) -> list[Any]:
        with translated():
            async with self._pool.acquire() as connection:
                rows: list[Any] = await connection.fetch(statement, *values)
                return rows


async def _pool(address: Secret, settings: dict[str, str]) -> Any:
    return await asyncpg.create_pool(
        address.reveal(),
        # No minimum: without a database, asyncpg would log a traceback for each attempt to
        # reconnect. Requests connect, and get 503.
        min_size=0,
        max_size=CONNECTIONS,
        command_timeout=TIMEOUT,
        timeout=CONNECT_TIMEOUT,
        server_settings=settings,
        # Nothing here changes a session, so returning a connection needs no round trip.
        reset=_keep_session,
    )


async def _keep_session(_: Any) -> None:
    return None


def _fence(fence: Fence | None) -> tuple[str | None, str | None]:
    return (fence.state, fence.lock_id) if fence else (None, None)


def _outcome(row: Any) -> Outcome:
    current = row["current"]
    standing = Standing(current, row["serial"], row["lineage"], row["md5"])
    return Outcome(OutcomeKind(row["verdict"]), _lock(*row[:4]), standing if current else None)


def _lock(lock_id: str | None, info: bytes, owner: str, expires: float) -> Lock | None:
    return Lock(lock_id, info, owner, expires) if lock_id else None


def _summary(row: Any) -> Summary:
    name, lock_id, info, owner, expires, *version = row
    found = Version(*version) if version[0] is not None else None
    return Summary(name, _lock(lock_id, info, owner, expires), found)

"""The audit chain in PostgreSQL: one chain for all servers of a database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.statestore.audit.chain import GENESIS, LARGEST, Block, Mark, link, newest
from talops.statestore.audit.journal import Journal
from talops.statestore.model import AuditEntry
from talops.statestore.postgres import statements as sql
from talops.statestore.postgres.failures import translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.statestore.audit.chain import Signer

# Entries of a server that was killed are moved into the chain by another one.
OTHERS_SECONDS = 15.0


class Records:
    """Changes insert their entries with themselves; this moves them into the chain."""

    def __init__(self, pool: Any, signer: Signer | None) -> None:
        self._pool = pool
        self._signer = signer
        self.journal = Journal()
        self._changed = True
        self._flushed = time.monotonic()

    async def begin(self) -> None:
        with translated(starting=True):
            await self._pool.execute(sql.BEGIN_CHAIN, GENESIS)
            async with self._pool.acquire() as connection, connection.transaction():
                head = Mark(*await connection.fetchrow(sql.HEAD + " FOR UPDATE"))
                row = await connection.fetchrow(sql.NEWEST, 1)
        last = Block(*row).mark if row else Mark()
        if head != last:
            raise ConflictError(
                f"the audit ends with block {last.number}, but block {head.number} was written",
                hint="blocks were removed: restore the database from a backup, and compare the "
                "audit with what talops state audit verify has seen",
            )

    def changed(self) -> None:
        """A change is about to insert its entry; refuse it if the chain cannot be written."""
        self.journal.require()
        self._changed = True

    async def flush(self) -> None:
        now = time.monotonic()
        if not (self.journal or self._changed or now - self._flushed > OTHERS_SECONDS):
            return
        self._changed = False
        taken = self.journal.take()
        try:
            while await self._append(taken):
                taken = []
        except BaseException:
            self._changed = True
            self.journal.put_back(taken)
            raise
        self.journal.written()
        self._flushed = now

    async def _append(self, taken: Sequence[AuditEntry]) -> bool:
        """One block; whether more entries wait."""
        with translated():
            async with self._pool.acquire() as connection, connection.transaction():
                head = Mark(*await connection.fetchrow(sql.HEAD + " FOR UPDATE"))
                rows = await connection.fetch(sql.WAITING, LARGEST)
                entries = [*(AuditEntry(*row) for row in rows), *taken]
                if entries:
                    block = link(head, entries, self._signer)
                    values = (block.previous, block.content, block.hash, block.signature)
                    await connection.execute(sql.ADD_BLOCK, block.number, *values)
                    await connection.execute(sql.SET_HEAD, block.number, block.hash)
        return len(rows) == LARGEST

    async def newest(self, limit: int) -> list[AuditEntry]:
        await self.flush()
        with translated():
            rows = await self._pool.fetch(sql.NEWEST, limit)
        return newest((Block(*row) for row in rows), limit)

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        await self.flush()
        with translated():
            rows = await self._pool.fetch(sql.BLOCKS, after, limit)
            head = await self._pool.fetchrow(sql.HEAD)
        return [Block(*row) for row in rows], Mark(*head)

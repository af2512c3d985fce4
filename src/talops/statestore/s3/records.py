"""The audit chain in a bucket: one object per block, created only if its number is free."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import asdict
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.statestore.audit.chain import LARGEST, Block, Mark, link, newest
from talops.statestore.audit.journal import Journal
from talops.statestore.s3.bucket import ChangedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from talops.statestore.audit.chain import Signer
    from talops.statestore.model import AuditEntry
    from talops.statestore.s3.bucket import Bucket

PREFIX = "audit/"
HEAD = "audit-head.json"
# Entries of a server that was killed are in its head objects; those of a running one are fresher.
LEFT_SECONDS = 60.0
_REMEMBERED = 10_000


class Records:
    """A change records its entry in the head object, with itself; this moves it into the chain.

    An entry that a killed server left may be in the chain twice, never zero times.
    """

    def __init__(self, bucket: Bucket, signer: Signer | None) -> None:
        self._bucket = bucket
        self._signer = signer
        self._last = Mark()
        self.journal = Journal()
        # Entries in head objects: those to move, and those that are already in the chain.
        self._fresh: list[AuditEntry] = []
        self._moved: OrderedDict[tuple[object, ...], None] = OrderedDict()

    async def begin(self) -> None:
        found = await self._bucket.get(HEAD)
        head = Mark(**json.loads(found[0])) if found else Mark()
        block = await self._block(head.number) if head.number else None
        if head.number and (block is None or block.mark != head):
            raise ConflictError(
                f"block {head.number} of the audit is missing or another one",
                where=_key(head.number),
                hint="restore it from the object versions of the bucket, or from a backup",
            )
        self._last = head
        await self._advance()

    def waiting(self, entries: Iterable[AuditEntry]) -> tuple[AuditEntry, ...]:
        """Without those that the chain contains."""
        self.journal.require()
        return tuple(entry for entry in entries if entry.row not in self._moved)

    def add(self, entries: Iterable[AuditEntry]) -> None:
        """They are in a head object now."""
        self._fresh.extend(entries)

    async def adopt(self, entries: Sequence[AuditEntry]) -> None:
        """Entries that head objects contain although no running server moves them any more."""
        before = time.time() - LEFT_SECONDS
        left = [e for e in self.waiting(entries) if e.at < before and e not in self._fresh]
        if not left:
            return
        since = min(entry.at for entry in left)
        async for block in self._backwards():
            inside = block.entries()
            self._remember(inside)
            if max(entry.at for entry in inside) < since:
                break
        self._fresh.extend(self.waiting(left))

    async def flush(self) -> None:
        fresh, taken = self._fresh, self.journal.take()
        self._fresh = []
        try:
            entries = [*fresh, *taken]
            for place in range(0, len(entries), LARGEST):
                await self._append(entries[place : place + LARGEST])
        except BaseException:
            self._fresh = [*fresh, *self._fresh]
            self.journal.put_back(taken)
            raise
        self.journal.written()
        self._remember(fresh)

    async def newest(self, limit: int) -> list[AuditEntry]:
        await self.flush()
        await self._advance()
        blocks: list[Block] = []
        count = 0
        async for block in self._backwards():
            blocks.append(block)
            count += len(block.entries())
            if count >= limit:
                break
        return newest(blocks, limit)

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        await self.flush()
        await self._advance()
        last = min(self._last.number, after + limit)
        found = [await self._block(number) for number in range(after + 1, last + 1)]
        return [block for block in found if block], self._last

    async def _append(self, entries: Sequence[AuditEntry]) -> None:
        """One server at a time creates the object with the next number."""
        while True:
            block = link(self._last, entries, self._signer)
            data = json.dumps(asdict(block)).encode()
            try:
                await self._bucket.swap(_key(block.number), data, None)
            except ChangedError:
                found = await self._block(block.number)
                if found != block:  # otherwise the response to this very request was lost
                    await self._advance()
                    continue
            self._last = block.mark
            await self._bucket.put(HEAD, json.dumps(asdict(self._last)).encode())
            return

    async def _advance(self) -> None:
        """Read the blocks of other servers."""
        while (block := await self._block(self._last.number + 1)) is not None:
            self._last = block.mark

    async def _block(self, number: int) -> Block | None:
        found = await self._bucket.get(_key(number))
        if found is None:
            return None
        try:
            return Block(**json.loads(found[0]))
        except (ValueError, TypeError) as error:
            raise TalopsError(
                "a block of the audit is damaged",
                where=_key(number),
                hint="restore it from the object versions of the bucket, or from a backup",
            ) from error

    async def _backwards(self) -> AsyncIterator[Block]:
        for number in range(self._last.number, 0, -1):
            block = await self._block(number)
            if block is not None:
                yield block

    def _remember(self, entries: Iterable[AuditEntry]) -> None:
        for entry in entries:
            self._moved[entry.row] = None
        while len(self._moved) > _REMEMBERED:
            self._moved.popitem(last=False)


def _key(number: int) -> str:
    return f"{PREFIX}{number:012d}.json"

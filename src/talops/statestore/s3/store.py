"""The S3 store; several servers may share a bucket."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.statestore.cache import BlobCache, spool
from talops.statestore.model import Outcome, OutcomeKind, Stored, Summary
from talops.statestore.s3 import changes
from talops.statestore.s3.heads import Heads
from talops.statestore.s3.records import Records
from talops.statestore.store import ORPHAN_AGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.audit.chain import Block, Mark, Signer
    from talops.statestore.model import (
        Actor,
        AuditEntry,
        Draft,
        Fence,
        Lock,
        Retention,
        Version,
    )
    from talops.statestore.s3.bucket import Bucket
    from talops.statestore.s3.heads import Document
    from talops.statestore.store import Make

BLOBS = "blobs/"


class S3Store:
    def __init__(self, bucket: Bucket, records: Records) -> None:
        self._bucket = bucket
        self._records = records
        self._heads = Heads(bucket, records)
        self._cache = BlobCache()

    @classmethod
    async def open(cls, bucket: Bucket, signer: Signer | None = None) -> S3Store:
        await bucket.prove()
        records = Records(bucket, signer)
        await records.begin()
        store = cls(bucket, records)
        await store._adopt()
        return store

    async def lock(
        self,
        state: str,
        wanted: Lock,
        entry: AuditEntry | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        """The clock of this server decides whether a lease has ended."""
        change = partial(changes.lock, wanted=wanted, entry=entry, now=time.time())
        outcome = await self._heads.swap(state, change, fence)
        if outcome.kind is OutcomeKind.DONE and wanted.lease:
            await self._heads.touch(state.partition("/")[0])
        return outcome

    async def unlock(
        self,
        state: str,
        lock_id: str | None,
        entry: AuditEntry | None = None,
        by: str | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        change = partial(changes.unlock, lock_id=lock_id, entry=entry, by=by)
        return await self._heads.swap(state, change, fence)

    async def write(self, state: str, draft: Draft) -> Outcome:
        if draft.blob:
            change = partial(changes.write, state=state, draft=draft)
            return await self._heads.swap(state, change, draft.fence)
        blob = uuid.uuid4().hex
        await self._bucket.put(BLOBS + blob, draft.body)
        named = replace(draft, blob=blob, body=b"")
        change = partial(changes.write, state=state, draft=named)
        outcome = await self._heads.swap(state, change, draft.fence)
        if not outcome.accepted:
            await self.discard(blob)
        return outcome

    async def rollback(self, state: str, number: int, draft: Draft) -> Outcome:
        change = partial(changes.rollback, state=state, number=number, draft=draft)
        return await self._heads.swap(state, change, draft.fence)

    async def delete(self, state: str, actor: Actor, at: float) -> Outcome:
        return await self._heads.swap(
            state, partial(changes.delete, state=state, actor=actor, at=at)
        )

    async def read(self, state: str, number: int | None = None) -> Stored | None:
        document, _ = await self._heads.load(state)
        if number is None:
            found = document.head.current
        else:
            found = next((v for v in document.versions if v.number == number), None)
        return Stored(found) if found else None

    def stream(self, blob: str) -> AsyncIterator[bytes]:
        return self._cache.stream(blob) or self._bucket.stream(BLOBS + blob)

    async def stage(self) -> SpooledStaging:
        return SpooledStaging(self._bucket, self._cache)

    async def discard(self, blob: str) -> None:
        self._cache.forget(blob)
        with contextlib.suppress(TalopsError):  # the sweep retries it
            await self._bucket.delete([BLOBS + blob])

    async def summary(self, state: str) -> Summary | None:
        document, etag = await self._heads.load(state)
        return Summary(state, document.head.lock, document.head.current) if etag else None

    async def states(self) -> list[Summary]:
        return [
            Summary(name, document.head.lock, document.head.current)
            for name, document in await self._heads.all()
        ]

    async def versions(self, state: str) -> list[Version]:
        document, _ = await self._heads.load(state)
        return list(reversed(document.versions))

    async def rewrap(self, state: str, number: int, sealed_key: str) -> None:
        await self._heads.swap(state, partial(changes.rewrap, number=number, sealed_key=sealed_key))

    def note(self, entry: AuditEntry) -> None:
        self._records.journal.note(entry)

    async def flush_audit(self) -> None:
        await self._records.flush()

    async def audit(self, limit: int) -> list[AuditEntry]:
        return await self._records.newest(limit)

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        return await self._records.blocks(after, limit)

    async def _adopt(self) -> None:
        found = await self._heads.all()
        await self._records.adopt([entry for _, document in found for entry in document.audit])

    async def prune(self, state: str, keep: Retention, now: float) -> int:
        """The next sweep removes their bodies."""
        count = 0

        def change(document: Document) -> tuple[Outcome, Document | None]:
            nonlocal count
            count, after = changes.prune(document, state, keep, now)
            return Outcome(OutcomeKind.DONE), after

        await self._heads.swap(state, change)
        return count

    async def sweep(self, now: float) -> int:
        await self._adopt()
        # List bodies before heads: a body referenced in between is not an orphan.
        bodies = await self._bucket.list(BLOBS)
        named = {v.blob for _, document in await self._heads.all() for v in document.versions}
        orphans = [
            key
            for key, written in bodies
            if key.removeprefix(BLOBS) not in named and now - written > ORPHAN_AGE
        ]
        await self._bucket.delete(orphans)
        return len(orphans)

    async def check(self) -> None:
        await self._bucket.get("heads/.ready")

    async def close(self) -> None:
        with contextlib.suppress(TalopsError):
            await self._records.flush()
        self._cache.close()


class SpooledStaging:
    """A body on disk until it is complete: an abandoned upload costs money on S3."""

    def __init__(self, bucket: Bucket, cache: BlobCache) -> None:
        self._bucket = bucket
        self._cache = cache
        self._file = spool()

    async def write(self, make: Make) -> None:
        await asyncio.to_thread(self._write, make)

    def _write(self, make: Make) -> None:
        self._file.writelines(make())

    async def finish(self) -> str:
        blob = uuid.uuid4().hex
        await asyncio.to_thread(self._file.seek, 0)
        await self._bucket.put(BLOBS + blob, self._file)
        self._cache.adopt(blob, self._file)
        return blob

    async def abort(self) -> None:
        self._file.close()

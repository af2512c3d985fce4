"""The store interface: locks, versions and blobs of named states, durable before it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.audit.chain import Block, Mark
    from talops.statestore.model import (
        Actor,
        AuditEntry,
        Draft,
        Fence,
        Lock,
        Outcome,
        Retention,
        Stored,
        Summary,
        Version,
    )

# Bodies up to this size are stored with their version; larger ones become blobs, staged before.
INLINE_LIMIT = 128 * 1024
# Blobs without a version are removed after this time: an upload may still be in progress.
ORPHAN_AGE = 3600.0


# Produces the next pieces of a blob: hashing and encryption run on the thread that writes them.
Make = Callable[[], list[bytes]]


class Staging(Protocol):
    """A blob during its upload; nothing refers to it until a version does."""

    async def write(self, make: Make) -> None: ...

    async def finish(self) -> str:
        """The name of the blob, after its bytes are durable."""
        ...

    async def abort(self) -> None: ...


class Store(Protocol):
    """A method raises UnreachableError if its outcome is unknown; the client then retries."""

    async def lock(
        self,
        state: str,
        wanted: Lock,
        entry: AuditEntry | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        """Grant the lock, or renew its lease; `entry` is recorded if it was granted."""
        ...

    async def unlock(
        self,
        state: str,
        lock_id: str | None,
        entry: AuditEntry | None = None,
        by: str | None = None,
        fence: Fence | None = None,
    ) -> Outcome:
        """`entry` is recorded if a lock was removed; `by` None may remove the locks of others."""
        ...

    async def write(self, state: str, draft: Draft) -> Outcome: ...

    async def rollback(self, state: str, number: int, draft: Draft) -> Outcome:
        """Write a byte-identical copy of version `number` as the newest one."""
        ...

    async def delete(self, state: str, actor: Actor, at: float) -> Outcome:
        """The state does not exist afterwards; its versions stay."""
        ...

    async def read(self, state: str, number: int | None = None) -> Stored | None: ...

    def stream(self, blob: str) -> AsyncIterator[bytes]: ...

    async def stage(self) -> Staging: ...

    async def discard(self, blob: str) -> None:
        """Remove a staged blob that no version refers to."""
        ...

    async def summary(self, state: str) -> Summary | None: ...

    async def states(self) -> list[Summary]: ...

    async def versions(self, state: str) -> list[Version]:
        """Newest first."""
        ...

    async def rewrap(self, state: str, number: int, sealed_key: str) -> None: ...

    def note(self, entry: AuditEntry) -> None:
        """Record something that changes nothing, at the latest with the next flush.

        UnreachableError if the audit could not be written for too long.
        """
        ...

    async def flush_audit(self) -> None: ...

    async def audit(self, limit: int) -> list[AuditEntry]:
        """The last entries, newest first."""
        ...

    async def blocks(self, after: int, limit: int) -> tuple[list[Block], Mark]:
        """Blocks of the audit chain in order, and what the store says is its end."""
        ...

    async def prune(self, state: str, keep: Retention, now: float) -> int: ...

    async def sweep(self, now: float) -> int:
        """Remove blobs that no version refers to."""
        ...

    async def check(self) -> None:
        """Raise UnreachableError if the store is not available."""
        ...

    async def close(self) -> None: ...

"""What a store is: locks, versions and blobs of named states, durable before it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.model import (
        Actor,
        AuditEntry,
        Draft,
        Lock,
        Outcome,
        Retention,
        Stored,
        Summary,
        Version,
    )

# Bodies up to this size travel with their version; larger ones become blobs, staged before.
INLINE_LIMIT = 128 * 1024
# Blobs that no version names are swept after this long: an upload may still be on its way.
ORPHAN_AGE = 3600.0


# What makes the next pieces of a blob: hashing and sealing happen on the thread that writes them.
Make = Callable[[], list[bytes]]


class Staging(Protocol):
    """A blob on its way in; nothing names it until a version does."""

    async def write(self, make: Make) -> None: ...

    async def finish(self) -> str:
        """The blob's name, once its bytes are durable."""
        ...

    async def abort(self) -> None: ...


class Store(Protocol):
    """A method raises UnreachableError when its outcome is unknown; the client then re-sends."""

    async def lock(self, state: str, wanted: Lock) -> Outcome: ...

    async def unlock(
        self, state: str, lock_id: str | None, entry: AuditEntry | None = None
    ) -> Outcome:
        """`entry` is kept, with the lock's id, if a lock was really taken away."""
        ...

    async def write(self, state: str, draft: Draft) -> Outcome: ...

    async def rollback(self, state: str, number: int, draft: Draft) -> Outcome:
        """Make a copy of version `number` the newest one, byte for byte."""
        ...

    async def delete(self, state: str, actor: Actor, at: float) -> Outcome:
        """The state reads as absent afterwards; its versions stay."""
        ...

    async def read(self, state: str, number: int | None = None) -> Stored | None: ...

    def stream(self, blob: str) -> AsyncIterator[bytes]: ...

    async def stage(self) -> Staging: ...

    async def discard(self, blob: str) -> None:
        """Remove a staged blob that no version came to name."""
        ...

    async def summary(self, state: str) -> Summary | None: ...

    async def states(self) -> list[Summary]: ...

    async def versions(self, state: str) -> list[Version]:
        """Newest first."""
        ...

    async def rewrap(self, state: str, number: int, sealed_key: str) -> None: ...

    async def audit(self, limit: int) -> list[AuditEntry]:
        """Newest first."""
        ...

    async def prune(self, state: str, keep: Retention, now: float) -> int: ...

    async def sweep(self, now: float) -> int:
        """Remove blobs that no version names."""
        ...

    async def check(self) -> None:
        """Raise UnreachableError when the store cannot serve."""
        ...

    async def close(self) -> None: ...

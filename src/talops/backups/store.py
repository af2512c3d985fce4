"""Where backups are kept: small documents, and encrypted files that are written once.

Nothing plain ever reaches a store. A file belongs to a backup only once its manifest is there,
which is written last: what an interrupted command leaves is not a backup, and `sweep` removes it.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

DATA, MANIFEST, DRILL = ".age", ".json", ".drill.json"
# A manifest of thousands of kinds; a store that returns more is not believed.
LARGEST_DOCUMENT = 4 << 20
# What was uploaded without a manifest may belong to a command that still runs.
ABANDONED = 24 * 3600.0


class Incoming(Protocol):
    """An encrypted file that is being written; without `keep` nothing of it remains."""

    @property
    def file(self) -> IO[bytes]: ...

    async def keep(self, name: str, sha256: str) -> None:
        """Store it durably under this name, and prove that the store has it."""
        ...


class Store(Protocol):
    @property
    def place(self) -> str:
        """For messages."""
        ...

    async def sizes(self) -> dict[str, int]:
        """All files; empty only if the store exists without any, or does not exist yet."""
        ...

    async def read(self, name: str) -> bytes:
        """A small document; an error if it is larger than any that talops writes."""
        ...

    async def write(self, name: str, data: bytes) -> None:
        """Replace a small document durably."""
        ...

    def incoming(self) -> AbstractAsyncContextManager[Incoming]: ...

    def opened(self, name: str) -> AbstractAsyncContextManager[IO[bytes]]:
        """An encrypted file, readable at any position."""
        ...

    async def remove(self, name: str) -> None: ...

    async def sweep(self) -> int:
        """Remove what interrupted commands left behind; the number of files."""
        ...

"""Entries on their way into the chain: those of reads and logins wait for the next block."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from talops.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.model import AuditEntry

MOST = 10_000
# Longer than this, a server does not answer without writing its audit.
OVERDUE_SECONDS = 30.0
_UNWRITABLE = "the audit of this server cannot be written"
_LONGEST = 256


class Journal:
    """In memory, limited in number; and in age, once the audit cannot be written."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: deque[AuditEntry] = deque()
        self._failing_since: float | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def note(self, entry: AuditEntry) -> None:
        self.require()
        if len(self._waiting) >= MOST:
            raise UnreachableError(_UNWRITABLE)
        self._waiting.append(entry)

    def require(self) -> None:
        """UnreachableError if the audit could not be written for too long."""
        since = self._failing_since
        if since is not None and self._clock() - since > OVERDUE_SECONDS:
            raise UnreachableError(_UNWRITABLE)

    def take(self) -> list[AuditEntry]:
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def put_back(self, entries: list[AuditEntry]) -> None:
        """They could not be written."""
        if self._failing_since is None:
            self._failing_since = self._clock()
        self._waiting.extendleft(reversed(entries))

    def written(self) -> None:
        self._failing_since = None


def plain(text: str) -> str:
    """Text of a client, as one short line without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST])

"""Between two nodes the gates are passed once: after the first is before the second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.rolls.gates import Absence

# Seconds after which the gates are asked again, whatever this run has done meanwhile.
FRESH = 30.0


class LastPass:
    """Of all gates. Whatever changes the cluster clears it first."""

    def __init__(self) -> None:
        self._excused: frozenset[str] | None = None
        self._until = 0.0

    def keep(self, absence: Absence) -> None:
        self._excused = absence.excused
        self._until = time.monotonic() + FRESH

    def clear(self) -> None:
        self._excused = None

    def covers(self, absence: Absence) -> bool:
        """Only if every node that it excused is excused now, too."""
        known = self._excused is not None and self._excused <= absence.excused
        return known and time.monotonic() < self._until

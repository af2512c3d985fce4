"""What one kind of look found, when, and since when a part of it does not answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from talops.errors import TalopsError

# A value that is older than so many intervals is shown as stale.
PATIENCE = 3


@dataclass(frozen=True)
class Silence:
    """A part that does not answer, and since when."""

    error: TalopsError
    since: datetime


@dataclass(frozen=True)
class Panel:
    """`value` and `looked` are those of the last look that succeeded; `error` is that of a later
    one that did not. `silent`: parts of the value that could not be read.
    """

    name: str
    every: float
    value: Any = None
    looked: datetime | None = None
    tried: datetime | None = None
    error: Silence | None = None
    silent: Mapping[str, Silence] = field(default_factory=dict)
    looking: bool = False

    def begun(self) -> Panel:
        return replace(self, looking=True)

    def succeeded(self, value: Any, unread: Mapping[str, TalopsError], now: datetime) -> Panel:
        """A part that was silent before keeps its `since`."""
        silent = {
            part: Silence(error, self.silent[part].since if part in self.silent else now)
            for part, error in unread.items()
        }
        return replace(
            self, value=value, looked=now, tried=now, error=None, silent=silent, looking=False
        )

    def failed(self, error: TalopsError, now: datetime) -> Panel:
        since = self.error.since if self.error else now
        return replace(self, tried=now, error=Silence(error, since), looking=False)

    def stale(self, now: datetime) -> bool:
        """It must not be shown as the present."""
        if self.looked is None:
            return False
        return self.error is not None or (now - self.looked).total_seconds() > PATIENCE * self.every

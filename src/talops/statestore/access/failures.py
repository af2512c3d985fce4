"""Failed logins, counted per user and network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ALLOWED = 10
WINDOW = 60.0
_TRACKED = 10_000

Key = tuple[str, str]


class Failures:
    """Guesses for one user from one network block neither other users nor other networks."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[Key, list[float]] = {}

    def must_wait(self, key: Key) -> int:
        """Seconds until the next attempt; 0 if it may be made now."""
        recent = self._recent(key)
        if len(recent) < ALLOWED:
            return 0
        return max(1, round(recent[0] + WINDOW - self._clock()))

    def add(self, key: Key) -> None:
        if len(self._failures) >= _TRACKED:
            self._failures = {k: left for k in self._failures if (left := self._recent(k))}
        if len(self._failures) >= _TRACKED:
            self._failures.clear()
        self._failures[key] = [*self._recent(key), self._clock()]

    def forget(self, key: Key) -> None:
        self._failures.pop(key, None)

    def _recent(self, key: Key) -> list[float]:
        since = self._clock() - WINDOW
        return [at for at in self._failures.get(key, ()) if at > since]

"""A bounded list that can be read from its tail and then followed: logs, events."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")


class EventBuffer(Generic[T]):
    """Slow readers lose old items, so that memory stays bounded."""

    def __init__(self, limit: int) -> None:
        self._items: deque[T] = deque(maxlen=limit)
        self._added = 0
        self._wake = asyncio.Event()

    def add(self, item: T) -> None:
        self._items.append(item)
        self._added += 1
        self._wake.set()
        self._wake = asyncio.Event()

    def items(self, tail: int | None = None) -> list[T]:
        """The newest `tail` items; all if `tail` is None or negative."""
        found = list(self._items)
        if tail is None or tail < 0:
            return found
        return found[len(found) - min(tail, len(found)) :]

    async def follow(self, tail: int | None = None) -> AsyncIterator[T]:
        past = self.items(tail)
        position = self._added
        for item in past:
            yield item
        while True:
            wake = self._wake
            fresh = self._added - position
            position = self._added
            for item in self.items(fresh) if fresh else ():
                yield item
            if position == self._added:
                await wake.wait()

"""Who waits for changes of a site, and what changed since they last asked."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(eq=False)
class Subscription:
    """Names that changed are collected until they are taken: a slow client misses none, and gets
    each once.
    """

    _names: dict[str, None] = field(default_factory=dict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, name: str) -> None:
        self._names[name] = None
        self._woken.set()

    async def next(self) -> list[str]:
        await self._woken.wait()
        self._woken.clear()
        names, self._names = list(self._names), {}
        return names


class Changes:
    """`version` counts all changes: what is rendered for one version is rendered once."""

    def __init__(self) -> None:
        self._listening: set[Subscription] = set()
        self.version = 0

    def tell(self, name: str) -> None:
        self.version += 1
        for each in self._listening:
            each.tell(name)

    @contextlib.contextmanager
    def listening(self) -> Iterator[Subscription]:
        mine = Subscription()
        self._listening.add(mine)
        try:
            yield mine
        finally:
            self._listening.discard(mine)

    @property
    def listeners(self) -> int:
        return len(self._listening)

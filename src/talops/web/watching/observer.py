"""Look at one site, one look after the other, each kind at its own interval."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.web.watching.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from talops.web.watching.changes import Changes

# A look that takes longer failed: another one must not wait for it forever.
LONGEST = 600.0


@dataclass(frozen=True)
class Look:
    """`see` asks the world; `unread` are the parts of its answer that could not be read."""

    name: str
    every: float
    see: Callable[[], Awaitable[Any]]
    unread: Callable[[Any], Mapping[str, TalopsError]] = lambda _: {}


def _utc() -> datetime:
    return datetime.now(UTC)


class Observer:
    """`panels` has the last answer of each kind of look; `changes` is told about each new one."""

    def __init__(
        self,
        looks: Iterable[Look],
        changes: Changes,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc,
        longest: float = LONGEST,
        after: Callable[[Panel], None] = lambda _: None,
    ) -> None:
        """`after` receives each panel whose look succeeded."""
        self._looks = {each.name: each for each in looks}
        self._changes = changes
        self._clock, self._now, self._longest, self._after = clock, now, longest, after
        self._due = dict.fromkeys(self._looks, 0.0)
        self._asked = asyncio.Event()
        self.panels = {each.name: Panel(each.name, each.every) for each in self._looks.values()}

    def ask(self, name: str) -> None:
        """Look as soon as possible; a look in progress is not begun a second time."""
        if not self.panels[name].looking:
            self._due[name] = 0.0
            self._asked.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            name = min(self._due, key=lambda each: self._due[each])
            wait = self._due[name] - self._clock()
            if wait > 0:
                await self._sleep(wait)
            else:
                await self.look(name)

    async def _sleep(self, seconds: float) -> None:
        self._asked.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._asked.wait()
        except TimeoutError:
            return

    async def look(self, name: str) -> None:
        """Once; an error keeps the value before it."""
        look = self._looks[name]
        self._set(self.panels[name].begun())
        try:
            async with asyncio.timeout(self._longest):
                value = await look.see()
            panel = self.panels[name].succeeded(value, look.unread(value), self._now())
            self._after(panel)
        except TalopsError as error:
            panel = self.panels[name].failed(error, self._now())
        except TimeoutError:
            late = TalopsError(f"no answer in {self._longest:.0f} s")
            panel = self.panels[name].failed(late, self._now())
        except Exception as bug:  # noqa: BLE001  (one kind of look must not end all others)
            panel = self.panels[name].failed(TalopsError(f"bug: {bug!r}"), self._now())
        self._due[name] = self._clock() + look.every
        self._set(panel)

    def _set(self, panel: Panel) -> None:
        self.panels[panel.name] = panel
        self._changes.tell(panel.name)

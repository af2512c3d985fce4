"""Server-sent events: what changed in the view that a client shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.web.render import render

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from datetime import datetime

    from talops.web.serving.views import Documents, View
    from talops.web.watching.site import WatchedSite

# A client sees at most one change per this time; a comment keeps proxies from closing the stream.
PAUSE, HEARTBEAT = 1.0, 20.0


class Streams:
    """`close` ends all of them, so that the server can stop."""

    def __init__(
        self,
        documents: Documents,
        now: Callable[[], datetime],
        *,
        pause: float = PAUSE,
        heartbeat: float = HEARTBEAT,
    ) -> None:
        self._documents, self._now = documents, now
        self._pause, self._heartbeat = pause, heartbeat
        self._closing = asyncio.Event()

    def close(self) -> None:
        self._closing.set()

    async def of(
        self, site: WatchedSite, view: View, query: Mapping[str, str], seen: str
    ) -> AsyncGenerator[bytes]:
        """`seen`: the digest of the document that the client shows."""
        with site.changes.listening() as mine:
            ages = ""
            names: list[str] = [*view.panels]
            while not self._closing.is_set():
                if set(names) & set(view.panels):
                    document, digest = self._documents.of(site, view, query)
                    html = render("ages.html.j2", self._now(), doc=document)
                    if html != ages:
                        ages = html
                        yield event("ages", html)
                    if digest != seen:
                        seen = digest
                        yield event("changed", digest)
                if not names:
                    yield b": still here\n\n"
                await self._wait(self._pause)
                names = await self._next(mine.next())

    async def _next(self, coming: object) -> list[str]:
        """Names that changed; none after a silence, or when the server stops."""
        task = asyncio.ensure_future(coming)  # type: ignore[call-overload]  # a coroutine
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            done, _ = await asyncio.wait(
                {task, closing}, timeout=self._heartbeat, return_when=asyncio.FIRST_COMPLETED
            )
            return list(task.result()) if task in done else []
        finally:
            for each in (task, closing):
                each.cancel()

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return


def event(name: str, data: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in data.splitlines() or [""])
    return f"event: {name}\n{lines}\n".encode()

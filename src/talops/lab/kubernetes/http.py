"""HTTP calls of nodes, which can lose power during a call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    import ssl

_ENDLESS = httpx.Timeout(10.0, read=None)


class Http:
    """An httpx client whose calls finish even if the caller does not wait any more.

    httpx leaves a socket behind when it is cancelled during a TLS handshake, and in a lab nodes are
    cancelled all the time. A call without a waiting caller ends with its peer, or at its timeout.
    """

    def __init__(self, context: ssl.SSLContext, **settings: Any) -> None:
        self.client = httpx.AsyncClient(verify=context, trust_env=False, **settings)
        self._open: set[asyncio.Task[httpx.Response]] = set()
        self._closing: set[asyncio.Future[None]] = set()

    async def request(self, method: str, url: str, **content: Any) -> httpx.Response:
        task = asyncio.ensure_future(self.client.request(method, url, **content))
        self._open.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def stream(self, url: str) -> httpx.Response:
        """An open answer whose lines arrive over hours; the caller closes it."""
        request = self.client.build_request("GET", url, timeout=_ENDLESS)
        task = asyncio.ensure_future(self.client.send(request, stream=True))
        self._open.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._hang_up)
            raise

    def _hang_up(self, task: asyncio.Task[httpx.Response]) -> None:
        if not task.cancelled() and task.exception() is None:
            closing = asyncio.ensure_future(task.result().aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _ended(self, task: asyncio.Task[httpx.Response]) -> None:
        self._open.discard(task)
        if not task.cancelled():
            task.exception()  # the caller has the exception; do not log it again

    async def close(self) -> None:
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self.client.aclose()

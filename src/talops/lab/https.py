"""One HTTPS address of the lab, with a certificate of the lab's own authority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from talops.lab.pki import Authority


class HttpsSite:
    """Can be started again after a stop."""

    def __init__(self, authority: Authority, name: str, address: str, port: int) -> None:
        self._authority, self._name = authority, name
        self._address, self._port = address, port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"https://{self._address}:{self._port}"

    async def start(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        context = self._authority.server_context(self._name, [self._address])
        await web.TCPSite(self._runner, self._address, self._port, ssl_context=context).start()

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

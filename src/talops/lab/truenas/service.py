"""The TrueNAS of a lab: HTTPS on its own address, with the APIs of its version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.lab.https import HttpsSite
from talops.lab.truenas import rest, rpc
from talops.lab.truenas.keys import make_keys
from talops.lab.truenas.middleware import HOST, Middleware
from talops.lab.truenas.zfs import Zfs

if TYPE_CHECKING:
    from talops.lab.context import LabContext

PORT = 8447
# The first has JSON-RPC, the second no longer has REST.
RPC_SINCE, REST_UNTIL = (25, 4), (26, 0)


def apis(version: str) -> tuple[bool, bool]:
    """Whether this version supports JSON-RPC, and whether it supports REST."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    return numbers >= RPC_SINCE, numbers < REST_UNTIL


class TrueNasService:
    name = "truenas"

    def __init__(self, context: LabContext) -> None:
        self._context = context
        address = context.network.address(0, 5)
        self._site = HttpsSite(context.authority, self.name, address, PORT)
        self._middleware: Middleware | None = None
        self.keys = make_keys(context.credentials.token)

    @property
    def version(self) -> str:
        return self._context.spec.truenas.version

    @property
    def middleware(self) -> Middleware:
        assert self._middleware, "the TrueNAS is not running"
        return self._middleware

    async def start(self) -> None:
        file = self._context.layout.state(self.name) / "state.db"
        zfs = Zfs(file, self._context.spec.truenas.pools, self._is_full)
        timing = self._context.spec.timing
        self._middleware = Middleware(zfs, self.keys, self._context.faults, timing)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        await self._site.start(app)

    async def stop(self) -> None:
        await self._site.stop()
        if self._middleware:
            self._middleware.zfs.close()
            self._middleware = None

    def endpoints(self) -> dict[str, Any]:
        return {
            "url": self._site.url,
            "version": self.version,
            "pools": [pool.name for pool in self._context.spec.truenas.pools],
            "api_key": self.keys[0].key,
            "username": self.keys[0].username,
            "read_only_api_key": self.keys[1].key,
        }

    def _is_full(self, pool: str) -> bool:
        return self._context.faults.find("storage-full", host=HOST, storage=pool) is not None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        has_rpc, has_rest = apis(self.version)
        path = request.path
        if has_rpc and path == "/api/versions":
            return web.json_response([f"v{self.version}"])
        if has_rpc and path == "/api/current":
            return await rpc.serve(self.middleware, request)
        if has_rest and path.startswith("/api/v2.0/"):
            return await rest.serve(self.middleware, request)
        # The web server in front forwards unknown paths to the user interface.
        return web.Response(status=302, headers={"Location": "/ui/"})

"""The control API: status, faults, reset, stop. On loopback, with token authentication."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.errors import TalopsError
from talops.lab.faults import parse
from talops.lab.network import CONTROL_PORT

if TYPE_CHECKING:
    import socket

    from talops.lab.world import World


class Control:
    def __init__(self, world: World) -> None:
        self._world = world
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{self._world.network.control}:{CONTROL_PORT}"

    async def start(self, listener: socket.socket) -> None:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/status", self._status)
        app.router.add_get("/faults", self._list)
        app.router.add_post("/faults", self._add)
        app.router.add_delete("/faults", self._clear)
        app.router.add_delete("/faults/{id}", self._clear)
        app.router.add_post("/reset", self._reset)
        app.router.add_post("/stop", self._stop)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given, self._world.identity.control_token):
            return web.json_response({"what": "invalid token for this lab"}, status=401)
        try:
            response: web.StreamResponse = await handler(request)
        except TalopsError as error:
            return web.json_response(error.as_dict(), status=400)
        return response

    async def _status(self, _: web.Request) -> web.Response:
        faults = self._world.faults
        body = {**self._world.endpoints(), "faults": faults.listing()}
        if faults.problem:
            body["fault_file_problem"] = faults.problem
        return web.json_response(body)

    async def _list(self, _: web.Request) -> web.Response:
        return web.json_response(self._world.faults.listing())

    async def _add(self, request: web.Request) -> web.Response:
        added = self._world.faults.add(parse(await request.json()))
        return web.json_response(vars(added), status=201)

    async def _clear(self, request: web.Request) -> web.Response:
        removed = self._world.faults.remove(request.match_info.get("id"))
        return web.json_response({"removed": removed})

    async def _reset(self, _: web.Request) -> web.Response:
        await self._world.reset()
        return web.json_response(self._world.endpoints())

    async def _stop(self, _: web.Request) -> web.Response:
        self._world.stopping.set()
        return web.json_response({"stopping": True})

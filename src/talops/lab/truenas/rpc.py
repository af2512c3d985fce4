"""/api/current: JSON-RPC 2.0 in text frames of a WebSocket."""

from __future__ import annotations

import asyncio
import errno
import json
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from talops.lab.truenas.errors import CallError, Dropped, ValidationErrors, as_rpc

if TYPE_CHECKING:
    from talops.lab.truenas.keys import ApiKey
    from talops.lab.truenas.middleware import Middleware

PARSE, INVALID, UNKNOWN = -32700, -32600, -32601


class Session:
    """One connection, and its authenticated user."""

    def __init__(self, middleware: Middleware, socket: web.WebSocketResponse) -> None:
        self._middleware = middleware
        self._socket = socket
        self._key: ApiKey | None = None

    async def run(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                await self._socket.close(code=1003, message=b"Invalid websocket message type")
                return
            await self._handle(message.data)

    async def _handle(self, text: str) -> None:
        try:
            asked = json.loads(text)
        except ValueError as error:
            await self._say(None, error={"code": PARSE, "message": str(error)})
            return
        problem = _problem(asked)
        if problem:
            number = asked.get("id") if isinstance(asked, dict) else None
            await self._say(number, error={"code": INVALID, "message": problem})
            return
        await self._answer(asked["id"], asked["method"], asked.get("params", []))

    async def _answer(self, number: Any, method: str, params: list[Any]) -> None:
        try:
            result = await self._call(method, params)
        except (CallError, ValidationErrors) as error:
            await self._say(number, error=as_rpc(error))
        except KeyError:
            await self._say(number, error={"code": UNKNOWN, "message": "Method does not exist"})
        else:
            await self._say(number, result=result)

    async def _call(self, method: str, params: list[Any]) -> Any:
        if method == "core.ping":
            return "pong"
        if method.startswith("auth.login") and self._key is None:
            self._middleware.rate_limit.count(method)
        if method == "auth.login_with_api_key":
            self._key = self._middleware.log_in(str(params[0]))
            return self._key is not None
        if method == "auth.login_ex":
            return self._log_in(params[0])
        if not self._middleware.knows(method):
            raise KeyError(method)
        return await self._middleware.call(self._key, method, params)

    def _log_in(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict) or given.get("mechanism") != "API_KEY_PLAIN":
            raise ValidationErrors(
                ("login_data.mechanism", "Input should be 'API_KEY_PLAIN'", errno.EINVAL)
            )
        text, user = str(given.get("api_key")), given.get("username")
        known = [k for k in self._middleware.keys if k.key == text and k.username == user]
        if known and self._middleware.is_revoked(known[0]):
            return {"response_type": "EXPIRED"}
        self._key = known[0] if known else None
        if self._key is None:
            return {"response_type": "AUTH_ERR"}
        return {"response_type": "SUCCESS", "user_info": None, "authenticator": "LEVEL_1"}

    async def _say(self, number: Any, **more: Any) -> None:
        await self._socket.send_str(json.dumps({"jsonrpc": "2.0", "id": number, **more}))


def _problem(asked: Any) -> str | None:
    if not isinstance(asked, dict):
        return "Batch requests are not supported"
    if asked.get("jsonrpc") != "2.0":
        return "'jsonrpc' member must be of type string and must be exactly '2.0'"
    if "id" not in asked or not isinstance(asked.get("method"), str):
        return "Missing 'method' member"
    if not isinstance(asked.get("params", []), list):
        return "'params' member must be of type array"
    return None


async def serve(middleware: Middleware, request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    try:
        await Session(middleware, socket).run()
    except Dropped:
        assert request.transport
        request.transport.abort()
    except (ConnectionError, asyncio.CancelledError):
        await socket.close(code=1001)
    return socket

"""The state protocol: GET, POST, LOCK, UNLOCK and DELETE on a state and on its lock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.statestore import paths
from talops.statestore.documents import NotAStateError
from talops.statestore.exchange import ClientGoneError, Request, Response, refusal, respond
from talops.statestore.intake import RefusedError
from talops.statestore.lockinfo import BadLockError
from talops.statestore.service import Call
from talops.statestore.users import Access

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from talops.statestore.gate import Gate
    from talops.statestore.metrics import Metrics
    from talops.statestore.service import Service

_Handler = "Callable[[Call, Request], Awaitable[Response]]"


class StateEndpoint:
    """An ASGI application; every error that a client can cause becomes a 4xx or 503."""

    def __init__(self, service: Service, gate: Gate, metrics: Metrics) -> None:
        self._gate = gate
        self._metrics = metrics
        read, write = Access.READ, Access.WRITE
        self._on_state: dict[str, tuple[Access, Callable[..., Awaitable[Response]]]] = {
            "GET": (read, service.read),
            "HEAD": (read, service.read),
            "POST": (write, service.write),
            "PUT": (write, service.write),
            "LOCK": (write, service.lock),
            "UNLOCK": (write, service.unlock),
            "DELETE": (write, service.delete),
        }
        self._on_lock: dict[str, tuple[Access, Callable[..., Awaitable[Response]]]] = {
            "GET": (read, service.holder),
            "HEAD": (read, service.holder),
            "POST": (write, service.lock),
            "PUT": (write, service.lock),
            "LOCK": (write, service.lock),
            "UNLOCK": (write, service.unlock),
            "DELETE": (write, service.unlock),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientGoneError:
            self._metrics.count(request.method, 499, time.perf_counter() - started, 0)
            return
        await respond(send, receive, response, head=request.method == "HEAD")
        seconds = time.perf_counter() - started
        self._metrics.count(request.method, response.status, seconds, response.size)

    async def _answer(self, request: Request) -> Response:
        try:
            return await self._dispatch(request)
        except RefusedError as error:
            return error.response
        except (NotAStateError, BadLockError) as error:
            return refusal(400, error.what, error.hint or "")
        except UnreachableError:
            # The outcome is unknown; every request is safe to retry, and clients do.
            return refusal(503, "the store does not answer", "retry", [(b"retry-after", b"1")])
        except TalopsError as error:
            return refusal(500, error.what, error.hint or "")

    async def _dispatch(self, request: Request) -> Response:
        user = await self._gate.enter(request)
        target = paths.parse(request.path)
        if target is None:
            return refusal(
                404,
                "path does not exist",
                "the path of a state is /<project>/<state>, with names of A-Z a-z 0-9 . _ -",
            )
        methods = self._on_lock if target.is_lock else self._on_state
        if request.method not in methods:
            allowed = ", ".join(methods).encode()
            return refusal(405, "method not allowed", headers=[(b"allow", allowed)])
        access, handler = methods[request.method]
        self._gate.permit(user, access, target.state, request.address)
        force = user.may(Access.FORCE, target.state)
        return await handler(Call(target.state, user.name, request.address, force), request)

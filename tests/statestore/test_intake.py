"""Large bodies on their way in, cut by the network wherever it likes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.statestore.helpers import md5_header, state_body

from talops.statestore.application import Application, Limits
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.encryption.sealing import FRAME, BodyCipher
from talops.statestore.guard import OpenGuard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.sqlite import SqliteStore

STATE = "/homelab/platform"
KEY = Keyring([MasterKey(bytes(32))])


def exactly(size: int) -> bytes:
    """A state of this many bytes that ends in a line feed, as both tools write it."""
    body = state_body(1, padding=size - 1000)
    return body[:-1] + b" " * (size - len(body) - 1) + b"}\n"


async def upload(client: httpx.AsyncClient, body: bytes, cuts: list[int]) -> httpx.Response:
    async def pieces() -> AsyncIterator[bytes]:
        places = [0, *cuts, len(body)]
        for start, end in pairwise(places):
            yield body[start:end]

    return await client.post(STATE, content=pieces(), headers=md5_header(body))


class Cutting(httpx.AsyncBaseTransport):
    """Hands a request's pieces to the application one by one."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        pieces = request.stream.__aiter__()
        sent: list[dict[str, object]] = []

        async def receive() -> dict[str, object]:
            piece = await anext(pieces, None)
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.url.path,
            "query_string": request.url.query,
            "headers": [(key.lower(), value) for key, value in request.headers.raw],
            "client": ("127.0.0.1", 1),
        }
        await self._application(scope, receive, send)  # type: ignore[arg-type]  # ASGI's dicts
        status, headers = sent[0]["status"], sent[0]["headers"]
        body = b"".join(message["body"] for message in sent[1:])  # type: ignore[misc]  # bytes
        return httpx.Response(status, headers=headers, content=body)  # type: ignore[arg-type]


@pytest.mark.parametrize("vault", [BodyCipher(None), BodyCipher(KEY)], ids=["plain", "sealed"])
@pytest.mark.parametrize(
    ("size", "cuts"),
    [
        (FRAME, [FRAME - 1]),
        (FRAME + 1, [FRAME]),
        (2 * FRAME, [FRAME // 2, FRAME]),
        (2 * FRAME + 2, [200_000, 2 * FRAME]),
        (3 * FRAME - 7, [10, FRAME + 5, FRAME + 6, 3 * FRAME - 8]),
        (3 * FRAME + 1, []),
    ],
)
async def test_any_cut_gives_the_same_state(
    embedded: SqliteStore, vault: BodyCipher, size: int, cuts: list[int]
) -> None:
    """What is read is what was sent, however the pieces and the frames overlap."""
    application = Application(embedded, vault, OpenGuard(), Limits())
    transport = Cutting(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://states.test") as client:
        body = exactly(size)
        assert len(body) == size
        answer = await upload(client, body, cuts)
        assert answer.status_code == 200, answer.text
        assert (await client.get(STATE)).content == body


async def test_a_body_without_an_end(embedded: SqliteStore) -> None:
    """A body that stops before its last brace is refused, and leaves no file."""
    application = Application(embedded, BodyCipher(None), OpenGuard(), Limits())
    transport = Cutting(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://states.test") as client:
        body = exactly(2 * FRAME)[:-2] + b"\n\n"
        answer = await upload(client, body, [FRAME])
        assert (answer.status_code, answer.json()["error"]) == (
            400,
            "the body is not a state: it is incomplete",
        )
        assert (await client.get(STATE)).status_code == 404

"""One HTTP request and its response, with little code over ASGI: this is the hot path."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.types import Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]
_PLAIN_ID = re.compile(rb"ID=[A-Za-z0-9-]+\Z")
JSON_TYPE = (b"content-type", b"application/json")


class ClientGoneError(Exception):
    """The client closed the connection during its request; no response is possible."""


class Request:
    __slots__ = ("_headers", "_receive", "address", "method", "path", "query_string")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.address: str = scope["client"][0] if scope["client"] else "unknown"
        self._headers: Headers = scope["headers"]
        self._receive = receive

    def header(self, name: bytes) -> bytes | None:
        for key, value in self._headers:
            if key == name:
                return value
        return None

    def query(self, name: str) -> str:
        if not self.query_string:
            return ""
        if _PLAIN_ID.match(self.query_string):  # every write of both tools has one
            return self.query_string[3:].decode() if name == "ID" else ""
        pairs = parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True)
        return next((value for key, value in pairs if key == name), "")

    async def start(self, limit: int) -> tuple[bytes, bool]:
        """The body, or the first pieces of one beyond `limit`, and whether more may follow."""
        body, more = b"", True
        while more and len(body) <= limit:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return body, more

    async def pieces(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            if body := message.get("body", b""):
                yield body
            more = message.get("more_body", False)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    # For large bodies: `length` bytes in pieces instead of `body`.
    stream: AsyncIterator[bytes] | None = None
    length: int = 0
    # The request body was not read: send the response, let the client finish, then close.
    unread: bool = False

    @property
    def size(self) -> int:
        return self.length if self.stream is not None else len(self.body)


def refusal(status: int, what: str, hint: str = "", headers: Headers | None = None) -> Response:
    document: dict[str, Any] = {"error": what}
    if hint:
        document["hint"] = hint
    return document_response(document, status, headers)


def document_response(
    document: Mapping[str, Any] | list[Any], status: int = 200, headers: Headers | None = None
) -> Response:
    # A half character, which UTF-8 does not have, becomes the escape that JSON has for it.
    body = json.dumps(document, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
    return Response(status, body, [JSON_TYPE, *(headers or [])])


async def respond(send: Send, receive: Receive, response: Response, *, head: bool = False) -> None:
    headers = [*response.headers, (b"content-length", b"%d" % response.size)]
    if response.unread:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if response.stream is not None and not head:
        await _stream(send, response.stream)
        return
    body = b"" if head else response.body
    if response.unread:
        # Closing immediately would reset the connection and lose this response.
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await _drain(receive)
        body = b""
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send, stream: AsyncIterator[bytes]) -> None:
    async for piece in stream:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


DRAIN_LIMIT = 256 * 1024 * 1024


async def _drain(receive: Receive) -> None:
    """Limited in size here, and in time by the watchdog of the connection."""
    seen = 0
    while seen < DRAIN_LIMIT:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
        seen += len(message.get("body", b""))

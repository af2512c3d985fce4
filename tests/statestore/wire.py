"""A small HTTP client that is as unreliable as a network: re-send, disconnect, time out."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from tests.statestore.helpers import md5_header

LostError = (OSError, EOFError, asyncio.IncompleteReadError, TimeoutError)
ANSWER_SECONDS = 30


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    """One keep-alive connection to one server, opened when needed."""

    port: int
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None)

    async def ask(self, method: str, path: str, body: bytes = b"", *, drop: bool = False) -> Answer:
        """`drop` disconnects after the request is sent: whether it was done is unknown."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await self._connection()
                writer.write(_head(method, path, body) + body)
                await writer.drain()
                if drop:
                    raise EOFError("dropped on purpose")
                return await _answer(reader, method)
        except LostError:
            await self.close()
            raise

    async def close(self) -> None:
        if self._streams:
            self._streams[1].close()
            with contextlib.suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        return self._streams


def _head(method: str, path: str, body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    if body:
        lines.append(f"Content-MD5: {md5_header(body)['Content-MD5']}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _answer(reader: asyncio.StreamReader, method: str) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    headers = {key.lower(): value.strip() for key, value in (x.split(":", 1) for x in lines)}
    length = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
    return Answer(int(first.split()[1]), headers, await reader.readexactly(length))

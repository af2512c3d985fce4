"""Clients of the state protocol, as lean as they can be: the cores are meant for the server.

All of them share one process and one event loop; each has a connection and a state of its own.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvloop

if TYPE_CHECKING:
    from collections.abc import Iterator

BUFFER = 1024 * 1024


@dataclass(frozen=True)
class Body:
    data: bytes = field(repr=False)
    headers: str


@dataclass(frozen=True)
class Cycles:
    """How long each cycle took, and the time from the common start to the last answer."""

    times: list[float]
    seconds: float


def body_of(size: int) -> Body:
    """A state of the same serial as every other, with content of its own that does not compress."""
    filler = base64.b64encode(os.urandom(size * 3 // 4))
    data = b'{"version":4,"serial":1,"lineage":"bench","x":"%s"}' % filler
    digest = base64.b64encode(hashlib.md5(data).digest()).decode()
    return Body(data, f"Content-MD5: {digest}\r\n")


def run(port: int, authorization: str, bodies: list[list[Body]], seconds: float) -> Cycles:
    """One client for each list of bodies, which it sends in turns."""

    async def work() -> Cycles:
        loop = asyncio.get_running_loop()
        clients = []
        for number, own in enumerate(bodies):
            client = Client(f"/bench/c{number}-{len(own[0].data)}", authorization, own)
            await loop.create_connection(lambda c=client: c, "127.0.0.1", port)  # type: ignore[misc]  # a default binds it
            clients.append(client)
        for client in clients:  # the very first one pays for scrypt
            await client.follow(client.look())
        start = time.perf_counter()
        await asyncio.gather(*(client.follow(client.cycles(start + seconds)) for client in clients))
        end = time.perf_counter()
        return Cycles([t for client in clients for t in client.times], end - start)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work())


class Client(asyncio.BufferedProtocol):
    """Sends what its script yields, one request after the other's answer."""

    def __init__(self, path: str, authorization: str, bodies: list[Body]) -> None:
        self._path = path
        self._fixed = f"Host: localhost\r\nAuthorization: {authorization}\r\n"
        self._bodies = bodies
        self._buffer = bytearray(BUFFER)
        self._left = 0
        self.times: list[float] = []

    def look(self) -> Iterator[list[bytes]]:
        yield self._request("GET")

    def cycles(self, end: float) -> Iterator[list[bytes]]:
        while (start := time.perf_counter()) < end:
            lock_id = f"{id(self):x}-{time.time_ns()}"
            lock = b'{"ID":"%s","Who":"bench","Operation":"bench"}' % lock_id.encode()
            body = self._bodies[len(self.times) % len(self._bodies)]
            yield self._request("LOCK", data=lock)
            yield self._request("GET")
            yield self._request("POST", f"?ID={lock_id}", body.data, body.headers)
            yield self._request("UNLOCK", data=lock)
            self.times.append(time.perf_counter() - start)

    def follow(self, script: Iterator[list[bytes]]) -> asyncio.Future[None]:
        self._script = script
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._next()
        return self._done

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as asyncio calls it
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or RuntimeError("the server hung up"))

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._left:
            self._left -= nbytes
        else:
            self._left = self._start_of_answer(nbytes) - nbytes
        if self._left == 0 and not self._done.done():
            self._next()

    def _start_of_answer(self, count: int) -> int:
        """How long the whole answer is; its headers always come at once."""
        end = self._buffer.find(b"\r\n\r\n", 0, count)
        head = bytes(self._buffer[:end]).lower()
        if head[9:12] not in {b"200", b"404"}:
            self._done.set_exception(RuntimeError(f"answered with {head[9:12].decode()}"))
        return end + 4 + int(head.split(b"content-length: ")[1].split(b"\r\n")[0])

    def _next(self) -> None:
        request = next(self._script, None)
        if request is None:
            self._done.set_result(None)
        else:
            self._transport.writelines(request)

    def _request(
        self, method: str, query: str = "", data: bytes = b"", headers: str = ""
    ) -> list[bytes]:
        start = (
            f"{method} {self._path}{query} HTTP/1.1\r\n{self._fixed}{headers}"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        return [start.encode(), data] if data else [start.encode()]

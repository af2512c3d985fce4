"""Protection against connections that send too slowly (slow loris), or that are too many."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from uvicorn.server import ServerState

    from talops.statestore.access.crowd import Crowd

HEADER_LIMIT = 64 * 1024
HEADER_SECONDS = 15.0
BODY_GRACE = 20.0
BODY_RATE = 8 * 1024
READER_SECONDS = 60.0
LINGER_SECONDS = 1.0
_TOO_MUCH = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class SlowClientProtocol(HttpToolsProtocol):
    """Track the time and size of the current request; a watchdog checks it periodically."""

    # Set in a subclass for each server, because uvicorn creates the protocols.
    crowd: Crowd | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        super().connection_made(transport)
        self.since: float | None = time.monotonic()
        self.in_body = False
        self.received = 0
        self.blocked_since: float | None = None
        self.refused = False
        self.address: str = self.client[0] if self.client else "unknown"
        # None while a request is received or answered; unfinished headers count as idle.
        self.idle_since: float | None = self.since
        if self.crowd and not self.crowd.enter(self):
            self.refused = True
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.crowd:
            self.crowd.leave(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.refused:
            return
        if self.since is None:
            self.since = time.monotonic()
        self.received += len(data)
        super().data_received(data)
        if not self.in_body and self.received > HEADER_LIMIT and self.since is not None:
            self.refused = True
            self.transport.write(_TOO_MUCH)
            # Closing with unread data would reset the connection and lose the response.
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        self.in_body, self.idle_since = True, None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.since, self.in_body, self.received = None, False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self.blocked_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.blocked_since = None
        super().resume_writing()

    def too_slow(self, now: float) -> bool:
        if self.blocked_since is not None and now - self.blocked_since > READER_SECONDS:
            return True
        if self.since is None:
            return False
        if self.flow.read_paused:  # paused by the server itself: restart the clock
            self.since, self.received = now, 0
            return False
        elapsed = now - self.since
        if not self.in_body:
            return elapsed > HEADER_SECONDS
        return elapsed > BODY_GRACE and self.received < BODY_RATE * (elapsed - BODY_GRACE)


async def watch(state: ServerState, interval: float = 1.0) -> None:
    """Close connections that send headers or bodies too slowly."""
    while True:
        await asyncio.sleep(interval)
        now = time.monotonic()
        connections: list[Any] = list(state.connections)
        for connection in connections:
            if isinstance(connection, SlowClientProtocol) and connection.too_slow(now):
                connection.transport.abort()

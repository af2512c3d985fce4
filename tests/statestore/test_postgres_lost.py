"""A database that stops during an upload."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import content_of, draft_of, staged, state_body

from talops.errors import UnreachableError
from talops.redaction import Secret
from talops.statestore.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.statestore.postgres_server import PostgresServer

    from talops.statestore.store import Staging

pytestmark = pytest.mark.slow
MB = 1024 * 1024
STATE = "homelab/platform"


@dataclass
class Line:
    """A way to the database that can fill up, and be cut."""

    port: int
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    ends: list[asyncio.StreamWriter] = field(default_factory=list)
    joined: set[asyncio.Task[None]] = field(default_factory=set)

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.joined.add(task)
        theirs, ours = await asyncio.open_connection("127.0.0.1", self.port)
        self.ends += [writer, ours]
        await asyncio.gather(self._carry(reader, ours), self._carry(theirs, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(64 * 1024):
                if not self.flowing.is_set():
                    self.stalled.set()
                await self.flowing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def cut(self) -> None:
        for end in self.ends:
            end.transport.abort()
        self.ends.clear()
        self.flowing.set()


@contextlib.asynccontextmanager
async def line_to(port: int) -> AsyncIterator[tuple[Line, int]]:
    line = Line(port)
    line.flowing.set()
    server = await asyncio.start_server(line.join, "127.0.0.1", 0)
    try:
        yield line, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        line.cut()
        await asyncio.gather(*line.joined)
        await server.wait_closed()


async def test_a_connection_lost_while_it_is_full(postgres_server: PostgresServer) -> None:
    """An upload that waits for room fails at once when the database goes, and can be repeated."""
    async with line_to(postgres_server.port) as (line, port):
        own = f":{postgres_server.port}/"
        address = postgres_server.new_database().replace(own, f":{port}/")
        store = await PostgresStore.open(Secret(address))
        staging = await store.stage()
        line.flowing.clear()
        writing = asyncio.create_task(_write(staging, bytes(32 * MB)))
        # What is not forwarded is far more than fits into the buffers.
        async with asyncio.timeout(30):
            await line.stalled.wait()
        line.cut()
        with pytest.raises(UnreachableError):
            async with asyncio.timeout(30):
                await writing
        await staging.abort()
        body = state_body(1, padding=2 * MB)
        await store.write(STATE, draft_of(body, blob=await staged(store, body)))
        assert await content_of(store, STATE) == body
        await store.close()


async def _write(staging: Staging, data: bytes) -> None:
    await staging.write(lambda: [data])

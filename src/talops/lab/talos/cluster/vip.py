"""A shared address: one control plane at a time answers on it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PORTS = (6443, 50000)  # Kubernetes, and apid, whose certificate does not name the address
_CHUNK = 65536


class SharedAddress:
    """Listens on the address and forwards to its holder."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.holder: str | None = None
        self._servers: list[asyncio.Server] = []
        self._open: set[asyncio.Task[None]] = set()
        # A starting node and the lab's timer may both find that it has to move.
        self._moving = asyncio.Lock()

    async def settle(self, able: Sequence[str]) -> None:
        """The holder keeps the address as long as it can; otherwise the first that can takes it."""
        async with self._moving:
            if self.holder in able:
                return
            await self.close()
            if able:
                await self._take(able[0])

    async def _take(self, holder: str) -> None:
        """All of its ports or none, also if the node that settles it loses its power meanwhile."""
        self.holder = holder
        try:
            for port in _PORTS:
                await self._listen(port)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Connections end with the move, as on a real network."""
        self.holder = None
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.sleep(0)  # one turn, in which aborted sockets are closed

    async def _listen(self, port: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._open.add(task)
            try:
                await self._forward(port, reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
            finally:
                self._open.discard(task)

        listener = socket.create_server((self.address, port))
        # With a socket of its own and without serving, it does not wait, so none is left behind.
        server = await asyncio.start_server(serve, sock=listener, limit=_CHUNK, start_serving=False)
        self._servers.append(server)
        await server.start_serving()

    async def _forward(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            inner, outer = await asyncio.open_connection(self.holder, port, limit=_CHUNK)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_copy(reader, outer), _copy(inner, writer))
        except asyncio.CancelledError:  # the address moves: no holder receives the rest
            outer.transport.abort()
            raise
        finally:
            outer.close()
            writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # the peer has closed: close this direction, too
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()

"""A node's port: listening sockets that stay open while the servers behind them change."""

from __future__ import annotations

import asyncio
import errno
import socket
import weakref
from typing import TYPE_CHECKING

from grpclib.protocol import H2Protocol
from grpclib.server import Server

from talops.talos.wire.gathering import Gathering

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    from talops.lab.talos.router import Router

PORT = 50000
_BACKLOG = 100
_REBIND_LIMIT = 50
_REBIND_PAUSE = 0.05
_HANDSHAKE_LIMIT, _HANDSHAKE_POLL = 2.0, 0.01


class _Protocol(H2Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(Gathering(transport))


class _CuttableServer(Server):
    """Can close its connections, which grpclib itself leaves to the client."""

    def __init__(self, router: Router) -> None:
        super().__init__([router])
        self._protocols: weakref.WeakSet[H2Protocol] = weakref.WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        protocol = _Protocol(made.handler, made.config, made.h2_config)
        self._protocols.add(protocol)
        return protocol

    def retire(self) -> None:
        """Accept no new connections; existing ones continue."""
        assert self._server is not None
        self._server.close()

    async def cut(self) -> None:
        """Connections can be closed only after their handshake."""
        self.close()
        deadline = asyncio.get_running_loop().time() + _HANDSHAKE_LIMIT
        self._abort()
        while self._connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_HANDSHAKE_POLL)
            self._abort()
        await self.wait_closed()

    def _abort(self) -> None:
        for protocol in list(self._protocols):
            connection = getattr(protocol, "connection", None)
            if connection is not None:
                connection._transport.abort()  # noqa: SLF001  (close would wait for the peer)

    @property
    def _connections(self) -> int:
        return int(getattr(self._server, "_active_count", 0))


class NodePort:
    """One listening socket per address, and the server that takes its connections."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self._servers: list[_CuttableServer] = []
        self._retired: list[_CuttableServer] = []
        self._serving = asyncio.Lock()
        self._closings = 0

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(self._sockets)

    async def serve(
        self, addresses: Iterable[str], context: ssl.SSLContext, router: Router
    ) -> None:
        """Serve new connections with this server; ports stay open."""
        async with self._serving:
            closings = self._closings
            await self._replace(tuple(addresses), context, router)
        if closings != self._closings:  # the machine went down meanwhile, and nothing listens then
            await self.close()

    async def _replace(
        self, wanted: tuple[str, ...], context: ssl.SSLContext, router: Router
    ) -> None:
        before, self._servers = self._servers, []
        self._retired += before
        for address in wanted:
            if address not in self._sockets:
                self._sockets[address] = await _bound(address)
            self._servers.append(await _started(router, self._sockets[address], context))
        for server in before:
            server.retire()
        for address in self.addresses.difference(wanted):
            self._sockets.pop(address).close()

    async def cut_retired(self) -> None:
        """Close the connections that earlier servers still have."""
        retired, self._retired = self._retired, []
        for server in retired:
            await server.cut()

    async def close(self) -> None:
        self._closings += 1
        self._retired += self._servers
        self._servers = []
        for listening in self._sockets.values():
            listening.close()
        self._sockets.clear()
        await self.cut_retired()


async def _started(
    router: Router, listening: socket.socket, context: ssl.SSLContext
) -> _CuttableServer:
    server = _CuttableServer(router)
    starting = asyncio.ensure_future(server.start(sock=listening.dup(), ssl=context))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:  # the machine goes down right now
        await starting
        await server.cut()
        raise
    return server


async def _bound(address: str) -> socket.socket:
    """The previous listener's socket may take a moment to close."""
    for attempt in range(_REBIND_LIMIT):
        listening = socket.socket()
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address, PORT))
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            if error.errno != errno.EADDRINUSE or attempt == _REBIND_LIMIT - 1:
                raise
            await asyncio.sleep(_REBIND_PAUSE)
        else:
            return listening
    raise AssertionError

"""The node's door: the maintenance listener, the mTLS listener, and a network that can be lost."""

from __future__ import annotations

import asyncio
import datetime as dt
import errno
import ssl
import weakref
from typing import TYPE_CHECKING

from grpclib.protocol import H2Protocol
from grpclib.server import Server

from talops.lab.kubernetes.pki import Authority, Subject, load_pair, self_signed
from talops.lab.talos.router import Router
from talops.talos.wire.gathering import Gathering

if TYPE_CHECKING:
    from talops.lab.kubernetes.pki import KeyPair
    from talops.lab.talos.node import Node

PORT = 50000
_POLL = 0.2
_CERTIFICATE_LIFE = dt.timedelta(hours=24)
_REBIND_LIMIT = 50


class _Protocol(H2Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(Gathering(transport))


class _CuttableServer(Server):
    """Can drop its connections, which grpclib itself leaves to the other side."""

    def __init__(self, router: Router) -> None:
        super().__init__([router])
        self._protocols: weakref.WeakSet[H2Protocol] = weakref.WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        protocol = _Protocol(made.handler, made.config, made.h2_config)
        self._protocols.add(protocol)
        return protocol

    async def cut(self) -> None:
        self.close()
        for protocol in list(self._protocols):
            connection = getattr(protocol, "connection", None)
            if connection is not None:
                connection._transport.abort()  # noqa: SLF001  (close would wait for the peer)
        await self.wait_closed()


class Apid:
    """Listens on every address that the node has."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._servers: list[_CuttableServer] = []
        self._holes: list[asyncio.Server] = []
        self._hanging: list[asyncio.StreamWriter] = []
        self.secure = False
        self.cut_off = False
        self._closings = 0
        # What the node's clock was off by when it made the certificate it shows.
        self.issued_with = 0.0

    async def open_maintenance(self) -> None:
        node = self._node
        names = (*node.addresses, "maintenance-service.talos.dev")
        pair = self_signed(Subject("maintenance-service.talos.dev", names=names, server=True))
        context = _context(pair)
        await self._listen(context, maintenance=True)

    async def open_secure(self) -> None:
        """A worker first needs a control plane that signs its certificate."""
        node = self._node
        while (issuer := self._issuer()) is None:  # noqa: ASYNC110  (it is another machine)
            await asyncio.sleep(_POLL)
        assert node.config is not None
        assert issuer.config is not None
        self.issued_with = node.faults.clock_skew
        pair = Authority(issuer.config.os_ca).issue(self._subject())
        context = _context(pair)
        context.load_verify_locations(cadata=node.config.trusted_os_cas.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        await self._listen(context, maintenance=False)
        self.secure = True

    @property
    def can_open(self) -> bool:
        """Whether nobody else has to come first, whose own network is perhaps away."""
        return self._node.in_maintenance or self._issuer() is not None

    def _issuer(self) -> Node | None:
        node = self._node
        assert node.config is not None
        found = node if node.config.control_plane else node.fabric.issuer(node)
        return found if found is not None and found.config is not None else None

    async def close(self) -> None:
        self._closings += 1
        self.secure = False
        servers, self._servers = self._servers, []
        for server in servers:
            await server.cut()
        await self._fill_holes()

    async def renew(self) -> None:
        """Authorities or names in the config have changed."""
        if self.secure:
            await self.close()
            await self.open_secure()

    async def lose_network(self) -> None:
        """Connections end, new ones are taken by the kernel but nobody answers."""
        self.cut_off = True
        closings = self._closings
        servers, self._servers = self._servers, []
        for server in servers:
            await server.cut()
        for address in self._node.addresses:
            hole = await asyncio.start_server(self._hang, address, PORT)
            self._holes.append(hole)
        if self._closings != closings:  # the machine went down meanwhile, and nothing listens then
            await self._fill_holes()

    def _hang(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._hanging.append(writer)

    async def find_network(self) -> None:
        self.cut_off = False
        await self._fill_holes()
        if self._node.in_maintenance:
            await self.open_maintenance()
        else:
            await self.open_secure()

    async def _fill_holes(self) -> None:
        """Whoever hangs is let go: on a wire its packets would now find their way."""
        holes, self._holes = self._holes, []
        for hole in holes:
            hole.close()
        for writer in self._hanging:
            writer.transport.abort()
        self._hanging.clear()

    async def _listen(self, context: ssl.SSLContext, *, maintenance: bool) -> None:
        if self.cut_off:
            return
        for address in self._node.addresses:
            server = _CuttableServer(Router(self._node, maintenance=maintenance))
            await _start(server, address, context)
            self._servers.append(server)

    def _subject(self) -> Subject:
        node = self._node
        assert node.config is not None
        names = (*node.config.cert_sans, *node.addresses, "127.0.0.1", node.hostname)
        return Subject(
            common_name=node.hostname,
            names=names,
            server=True,
            lifetime=_CERTIFICATE_LIFE,
            not_before=dt.datetime.fromtimestamp(node.now, dt.UTC),
        )


async def _start(server: _CuttableServer, address: str, context: ssl.SSLContext) -> None:
    """The previous listener's socket may take a moment to go."""
    for attempt in range(_REBIND_LIMIT):
        try:
            await server.start(address, PORT, ssl=context, reuse_address=True)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or attempt == _REBIND_LIMIT - 1:
                raise
            await asyncio.sleep(_POLL / 4)
        else:
            return


def _context(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    load_pair(context, pair)
    return context

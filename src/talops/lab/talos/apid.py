"""The node's API server: maintenance mode, mTLS, the change between them, and network loss.

Since 1.13 one apid does both. When a config arrives it takes its new certificate without closing
the port, and for a moment more it treats every caller as a reader. A worker closes the port
instead: its certificate has to come from a control plane first.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from typing import TYPE_CHECKING

from talops.lab.kubernetes.pki import NO_PAIR, Authority, Subject, load_pair, throwaway_authority
from talops.lab.talos.node_port import PORT, NodePort
from talops.lab.talos.router import Router

if TYPE_CHECKING:
    from talops.lab.kubernetes.pki import KeyPair
    from talops.lab.talos.machine.node import Node

_POLL = 0.2
_CERTIFICATE_LIFE = dt.timedelta(hours=24)
_ONE_PORT_SINCE = 13
MAINTENANCE_NAME = "maintenance-service.talos.dev"


class Apid:
    """Listens on every address that the node has."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._port = NodePort()
        self._holes: list[asyncio.Server] = []
        self._hanging: list[asyncio.StreamWriter] = []
        self.secure = False
        self.cut_off = False
        self._closings = 0
        # Set when connections end; streams that other nodes forward end with them.
        self.gone = asyncio.Event()
        # The clock error of the node when it created the certificate that it shows.
        self.issued_with = 0.0
        self.throwaway = self.pair = NO_PAIR

    async def open_maintenance(self) -> None:
        """With a certificate of a temporary authority."""
        names = (*self._node.addresses, "127.0.0.1", self._node.hostname)
        subject = Subject(MAINTENANCE_NAME, names=names, server=True, lifetime=_CERTIFICATE_LIFE)
        self.throwaway = throwaway_authority()
        self.pair = Authority(self.throwaway).issue(subject)
        await self._serve(_context(self.pair), maintenance=True)

    async def leave_maintenance(self) -> None:
        """Called when a config has arrived."""
        node, timing = self._node, self._node.settings.timing
        assert node.config is not None
        if node.minor < _ONE_PORT_SINCE:
            await self.close()
            return
        await asyncio.sleep(timing.swap_of(node.machine.uuid))
        if not node.config.control_plane:
            await self.close()
            return
        await self._serve(_context(self._certificate(node)), maintenance=True)
        await asyncio.sleep(timing.authoriser)
        await self.open_secure()
        await self._port.cut_retired()

    async def open_secure(self) -> None:
        """A worker first needs a control plane that signs its certificate."""
        node = self._node
        if self.secure and self._port.addresses == frozenset(node.addresses):
            return
        while (issuer := self._issuer()) is None:  # noqa: ASYNC110  (it is another machine)
            await asyncio.sleep(_POLL)
        assert node.config is not None
        context = _context(self._certificate(issuer))
        context.load_verify_locations(cadata=node.config.trusted_os_cas.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        await self._serve(context, maintenance=False)
        self.secure = True

    @property
    def can_open(self) -> bool:
        """Whether this node does not depend on another one, whose network may be lost."""
        return self._node.in_maintenance or self._issuer() is not None

    def _issuer(self) -> Node | None:
        node = self._node
        assert node.config is not None
        found = node if node.config.control_plane else node.fabric.trustd(node)
        return found if found is not None and found.config is not None else None

    async def close(self) -> None:
        self._closings += 1
        self.secure = False
        self._hang_up()
        await self._port.close()
        await self._fill_holes()

    async def renew(self) -> None:
        """Authorities or names in the config have changed; open connections stay."""
        if self.secure:
            self.secure = False
            await self.open_secure()

    async def lose_network(self) -> None:
        """Close connections; the kernel accepts new ones, but no server responds."""
        self.cut_off = True
        closings = self._closings
        self._hang_up()
        await self._port.close()
        for address in self._node.addresses:
            hole = await asyncio.start_server(self._hang, address, PORT)
            self._holes.append(hole)
        if self._closings != closings:  # the machine went down meanwhile, and nothing listens then
            await self._fill_holes()

    def _hang_up(self) -> None:
        gone, self.gone = self.gone, asyncio.Event()
        gone.set()

    def _hang(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._hanging.append(writer)

    async def find_network(self) -> None:
        self.cut_off = False
        await self._fill_holes()
        if self._node.in_maintenance:
            await self.open_maintenance()
        else:
            self.secure = False
            await self.open_secure()

    async def _fill_holes(self) -> None:
        """Close hanging connections: on a real network their packets would now arrive."""
        holes, self._holes = self._holes, []
        for hole in holes:
            hole.close()
        for writer in self._hanging:
            writer.transport.abort()
        self._hanging.clear()

    async def _serve(self, context: ssl.SSLContext, *, maintenance: bool) -> None:
        if not self.cut_off:
            router = Router(self._node, maintenance=maintenance)
            await self._port.serve(self._node.addresses, context, router)

    def _certificate(self, issuer: Node) -> KeyPair:
        node = self._node
        assert node.config is not None
        assert issuer.config is not None
        self.issued_with = node.faults.clock_skew
        names = (*node.config.cert_sans, *node.addresses, "127.0.0.1", node.hostname)
        subject = Subject(
            common_name=node.hostname,
            names=names,
            server=True,
            lifetime=_CERTIFICATE_LIFE,
            not_before=dt.datetime.fromtimestamp(node.now, dt.UTC),
        )
        self.pair = Authority(issuer.config.os_ca).issue(subject)
        return self.pair


def _context(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    load_pair(context, pair)
    return context

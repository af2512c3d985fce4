"""One HTTP/2 connection to one endpoint, kept open and created again after a loss."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from grpclib.client import Channel, Handler
from grpclib.config import Configuration
from grpclib.metadata import Deadline
from grpclib.protocol import H2Protocol
from multidict import MultiDict

from talops.talos import tls
from talops.talos.credentials import UNREADABLE, Credentials, Maintenance, spki_fingerprint
from talops.talos.errors import ConfiguredError, FingerprintError, NodeDownError, WrongCaError
from talops.talos.messages import Call
from talops.talos.wire.frames import describe_briefly
from talops.talos.wire.gathering import Gathering

if TYPE_CHECKING:
    from talops.errors import TalopsError

describe_briefly()

API_PORT = 50000
CONNECT_TIMEOUT = 10.0

# A node that lost its network sends nothing: the kernel probes after 15 s of silence, and gives
# up after 30 s without an acknowledgement. HTTP/2 pings fail: Go servers close the connection.
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}


class _Protocol(H2Protocol):
    """grpclib's protocol, which also remembers why the connection ended."""

    transport: asyncio.Transport
    loss: BaseException | None = None
    heard = False

    def data_received(self, data: bytes) -> None:
        self.heard = True
        super().data_received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        super().connection_made(Gathering(transport))

    def connection_lost(self, exc: BaseException | None) -> None:
        self.loss = exc
        super().connection_lost(exc)


class Link(Channel):
    """grpclib's channel, which raises our errors and knows why a connection was lost."""

    def __init__(
        self, host: str, port: int, access: Credentials | Maintenance, *, once: bool = False
    ) -> None:
        """`once`: never connect again, so that all calls reach the machine that answered first."""
        super().__init__(host, port, ssl=access.context, config=Configuration())
        self.access = access
        self.once = once
        # The key of the server that answered; empty before the first connection.
        self.fingerprint = ""
        self.where = f"{host}:{port}" if port != API_PORT else host
        self.connect_timeout = CONNECT_TIMEOUT
        self._connecting: asyncio.Task[H2Protocol] | None = None

    @property
    def connected(self) -> bool:
        return bool(self._connected)

    async def __connect__(self) -> H2Protocol:
        """Concurrent calls wait for one attempt, and fail together with it."""
        if self._connected:
            return cast("H2Protocol", self._protocol)
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(super().__connect__())
            self._connecting.add_done_callback(self._attempted)
        return await asyncio.shield(self._connecting)

    def _attempted(self, attempt: asyncio.Task[H2Protocol]) -> None:
        self._connecting = None
        if not attempt.cancelled():
            attempt.exception()  # the waiting calls have the exception; do not log it again

    def request(  # type: ignore[override]  # what the stubs pass, and nothing else
        self,
        name: str,
        cardinality: Any,
        request_type: Any,
        reply_type: Any,
        *,
        timeout: float | None = None,
        metadata: Any = None,
    ) -> Call[Any, Any]:
        return Call(
            self,
            name,
            MultiDict(metadata or ()),  # type: ignore[arg-type]  # a NewType of it
            cardinality,
            request_type,
            reply_type,
            codec=self._codec,
            status_details_codec=None,
            dispatch=self.__dispatch__,
            deadline=None if timeout is None else Deadline.from_timeout(timeout),
        )

    def _protocol_factory(self) -> H2Protocol:
        return _Protocol(Handler(), self._config, self._h2_config)

    async def _create_connection(self) -> H2Protocol:
        if self.once and self.fingerprint:
            raise tls.lost(self.where)
        try:
            async with asyncio.timeout(self.connect_timeout):
                transport, protocol = await self._loop.create_connection(
                    self._protocol_factory, self._host, self._port, ssl=self.access.context
                )
        except ssl.SSLError as error:
            raise await self._explain(error) from error
        except TimeoutError as error:
            raise NodeDownError(
                f"no connection within {self.connect_timeout:g} s",
                where=self.where,
                hint="check that the node is up and that port 50000 is reachable",
            ) from error
        except OSError as error:
            raise tls.unreachable(error, self.where) from error
        self._check_pin(transport)
        _keep_alive(transport.get_extra_info("socket"))
        return protocol

    def _check_pin(self, transport: asyncio.Transport) -> None:
        if not isinstance(self.access, Maintenance):
            return
        try:
            shown = spki_fingerprint(transport.get_extra_info("ssl_object").getpeercert(True))
        except UNREADABLE:
            transport.abort()
            raise WrongCaError(
                "the server at this address shows a damaged certificate, as no node has it",
                where=self.where,
                hint="check which machine has this address",
            ) from None
        self.fingerprint = shown
        pins = self.access.fingerprints
        if pins and shown not in pins:
            transport.abort()
            raise FingerprintError(
                f"the node shows the key {shown}, which is not the pinned one",
                where=self.where,
                hint="compare with the fingerprint on the node's console",
            )

    async def _explain(self, error: ssl.SSLError) -> TalopsError:
        shown = None
        if isinstance(error, ssl.SSLCertVerificationError):
            with contextlib.suppress(OSError, TimeoutError):
                shown = await tls.shown_certificate(self._host, self._port, self.connect_timeout)
        trusted = self.access.ca if isinstance(self.access, Credentials) else ""
        return tls.handshake_error(error, self.where, shown, trusted)

    def close(self) -> None:
        """Close at once: a TLS shutdown would wait up to 30 s for the node's answer."""
        protocol = self._protocol
        if self._connecting is not None:
            self._connecting.cancel()
        super().close()
        if isinstance(protocol, _Protocol):
            protocol.transport.abort()

    async def loss_error(self) -> TalopsError:
        """Why the connection that served the last call ended."""
        protocol = self._protocol
        if not isinstance(protocol, _Protocol):
            return tls.lost(self.where)
        if tls.is_refusal(protocol.loss):
            return self._refused(protocol.loss)
        if protocol.heard:
            return tls.lost(self.where)
        # A rejected client only sees the connection end; not every server says why. A node
        # that goes down right now looks the same once, but not twice.
        closed = await tls.closes_at_once(self._host, self._port, self.access.context)
        return self._refused(None) if closed else tls.lost(self.where)

    def _refused(self, loss: BaseException | None) -> TalopsError:
        if isinstance(self.access, Maintenance):
            return ConfiguredError(
                "the node is not in maintenance mode: it requires a client certificate",
                where=self.where,
                hint="leave out --insecure and use the talosconfig of its cluster",
            )
        expired = self.access.expires < datetime.now(UTC)
        return tls.refused(loss, self.where, expired=expired)


def _keep_alive(sock: socket.socket | None) -> None:
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not every platform has all of them
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

"""A gRPC server on a private Unix socket that lives until OpenTofu is done with it."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpclib.const import Cardinality, Handler
from grpclib.encoding.base import CodecBase
from grpclib.server import Server

from talops.lab.provider import handshake
from talops.lab.provider.service import METHODS, Service
from talops.lab.provider.wire import messages
from talops.lab.provider.wire.codec import Message, decode, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from grpclib.server import Stream


_LONGEST_PLACE = 64


class Codec(CodecBase):
    __content_subtype__ = "proto"

    def encode(self, message: dict[str, Any], message_type: Message) -> bytes:
        return encode(message_type, message)

    def decode(self, data: bytes, message_type: Message) -> dict[str, Any]:
        return decode(message_type, data)


class Plugin:
    """What go-plugin asks of every plugin, beside the provider service itself."""

    def __init__(self, service: Service, stopped: asyncio.Event) -> None:
        self._service = service
        self._stopped = stopped

    def __mapping__(self) -> dict[str, Handler]:
        handlers = {
            f"/tfplugin6.Provider/{name}": _unary(getattr(self._service, method), asks, answers)
            for name, (method, asks, answers) in METHODS.items()
        }
        handlers["/plugin.GRPCController/Shutdown"] = _unary(
            self._shutdown, messages.EMPTY, messages.EMPTY
        )
        handlers["/plugin.GRPCStdio/StreamStdio"] = Handler(
            self._stdio, Cardinality.UNARY_STREAM, messages.EMPTY, messages.STDIO
        )
        return handlers

    async def _shutdown(self, _: dict[str, Any]) -> dict[str, Any]:
        self._stopped.set()
        return {}

    async def _stdio(self, stream: Stream[Any, Any]) -> None:
        """Nothing is ever said there; open until the end, as OpenTofu expects."""
        await stream.recv_message()
        await self._stopped.wait()


def _unary(
    method: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], asks: Message, answers: Message
) -> Handler:
    async def handle(stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        await stream.send_message(await method(request or {}))

    return Handler(handle, Cardinality.UNARY_UNARY, asks, answers)


def _short_place() -> str:
    """The path of a socket holds 107 characters, and a temporary directory may be deep."""
    usual = tempfile.gettempdir()
    return usual if len(usual) < _LONGEST_PLACE else "/tmp"  # noqa: S108  (a private one in it)


async def serve(environment: Mapping[str, str]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Ctrl-C reaches the whole process group; OpenTofu alone decides when to stop.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    client = environment.get(handshake.CLIENT_CERTIFICATE)
    identity = handshake.mutual_tls(client) if client else None
    service = Service(environment)
    with tempfile.TemporaryDirectory(prefix="talops-provider-", dir=_short_place()) as directory:
        path = str(Path(directory) / "plugin.sock")
        server = Server([Plugin(service, stopped)], codec=Codec())
        await server.start(path=path, ssl=identity.context if identity else None)
        sys.stdout.write(handshake.line(path, identity) + "\n")
        sys.stdout.flush()
        await stopped.wait()
        server.close()
    service.close()

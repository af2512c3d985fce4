"""Routes calls to a node's methods: checks roles, then forwards to the named nodes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError

from talops.errors import TalopsError, UnreachableError
from talops.lab.talos import rbac
from talops.lab.talos.api import APIS
from talops.lab.talos.call import Call
from talops.lab.talos.forwarded_streams import until_gone
from talops.talos.wire import (
    cluster_grpc,
    common_pb2,
    cosi_grpc,
    image_grpc,
    inspect_grpc,
    lifecycle_grpc,
    machine_grpc,
    serving,
    storage_grpc,
    time_grpc,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from grpclib.server import Stream

    from talops.lab.talos.machine.node import Node

_BASES: tuple[type, ...] = (
    machine_grpc.MachineServiceBase,
    lifecycle_grpc.LifecycleServiceBase,
    image_grpc.ImageServiceBase,
    storage_grpc.StorageServiceBase,
    cluster_grpc.ClusterServiceBase,
    time_grpc.TimeServiceBase,
    inspect_grpc.InspectServiceBase,
    cosi_grpc.StateBase,
)
_LIFECYCLE_SINCE = 13


@dataclass(frozen=True)
class Route:
    """One method on the wire, and the class that implements it, if any."""

    path: str
    cardinality: Cardinality
    request: Any
    reply: Any
    api: type | None
    method: str

    @property
    def wrapped(self) -> bool:
        """Whether the reply is a list of messages, one per node."""
        return "messages" in self.reply.DESCRIPTOR.fields_by_name

    def since(self) -> int:
        newer = ("/machine.LifecycleService/", "/machine.ImageService/")
        return _LIFECYCLE_SINCE if self.path.startswith(newer) else 0


def _snake(name: str) -> str:
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return split.lower()


@functools.cache
def routes() -> Mapping[str, Route]:
    found = {}
    for base in _BASES:
        for path, handler in serving.partial(base)().__mapping__().items():
            _, service, name = path.split("/")
            method = _snake(name)
            apis = [api for api in APIS if service == api.SERVICE and hasattr(api, method)]
            found[path] = Route(
                path=path,
                cardinality=handler.cardinality,
                request=handler.request_type,
                reply=handler.reply_type,
                api=apis[0] if apis else None,
                method=method,
            )
    return found


class Router:
    """All services of one listener, in the shape that grpclib serves."""

    def __init__(self, node: Node, *, maintenance: bool) -> None:
        self._node = node
        self._maintenance = maintenance

    def __mapping__(self) -> dict[str, Handler]:
        return {
            path: Handler(
                functools.partial(self._serve, route), route.cardinality, route.request, route.reply
            )
            for path, route in routes().items()
        }

    async def _serve(self, route: Route, stream: Stream[Any, Any]) -> None:
        roles = frozenset({rbac.MAINTENANCE}) if self._maintenance else rbac.roles_of(stream.peer)
        rbac.authorize(route.path, roles, minor=self._node.minor)
        many, one = _all(stream.metadata, "nodes"), _all(stream.metadata, "node")
        if self._maintenance or not (many or one):
            await _answer(route, Call(self._node, roles), stream)
        elif one and route.cardinality is Cardinality.UNARY_STREAM:
            request = await stream.recv_message()
            async for item in self._forwarded(route, Call(self._target(one[0]), roles), request):
                await stream.send_message(item)
        elif one:
            await _answer(route, Call(self._target(one[0]), roles), stream)
        else:
            await self._fan_out(route, roles, many, stream)

    def _target(self, address: str) -> Node:
        own = self._node
        if address in {*own.addresses, own.hostname, "127.0.0.1", "localhost"}:
            return own
        if own.config is not None and not own.config.control_plane:
            raise GRPCError(Status.PERMISSION_DENIED, "no request forwarding")
        other = own.fabric.by_address(address)
        reason = f"dial tcp {address}:50000: connect: connection refused"
        if other is not None and other.apid.cut_off:
            reason = f"dial tcp {address}:50000: i/o timeout"
        elif other is not None and other.api_up:
            assert other.config is not None
            assert own.config is not None
            if other.config.os_ca.crt == own.config.os_ca.crt:
                return other
            reason = (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            )
        raise GRPCError(
            Status.UNAVAILABLE,
            f'connection error: desc = "transport: Error while dialing: {reason}"',
        )

    async def _forwarded(self, route: Route, call: Call, request: Any) -> AsyncIterator[Any]:
        """The stream of another node ends when that node closes the connection."""
        items = _items(route, call, request)
        if call.node is not self._node:
            items = until_gone(call.node.apid.gone, items)
        async for item in items:
            yield item

    async def _fan_out(
        self, route: Route, roles: frozenset[str], addresses: list[str], stream: Stream[Any, Any]
    ) -> None:
        if route.cardinality is Cardinality.UNARY_STREAM:
            await self._fan_out_stream(route, roles, addresses, stream)
            return
        if not route.wrapped:
            raise GRPCError(
                Status.INVALID_ARGUMENT, f"one-2-many proxying is not supported for {route.path}"
            )
        uploads = route.cardinality is Cardinality.STREAM_UNARY
        request = [part async for part in stream] if uploads else await stream.recv_message()
        replies = await asyncio.gather(
            *(self._one_of_many(route, roles, address, request) for address in addresses)
        )
        merged = route.reply()
        for reply in replies:
            merged.MergeFrom(reply)
        await stream.send_message(merged)

    async def _one_of_many(
        self, route: Route, roles: frozenset[str], address: str, request: Any
    ) -> Any:
        reply = route.reply()
        try:
            reply = await _unary(route, Call(self._target(address), roles), request)
        except GRPCError as error:
            reply.messages.add().metadata.CopyFrom(_failure(address, error))
        for message in reply.messages:
            message.metadata.hostname = address
        return reply

    async def _fan_out_stream(
        self, route: Route, roles: frozenset[str], addresses: list[str], stream: Stream[Any, Any]
    ) -> None:
        request = await stream.recv_message()
        queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=16)

        async def feed(address: str) -> None:
            try:
                call = Call(self._target(address), roles)
                async for item in self._forwarded(route, call, request):
                    if "metadata" in item.DESCRIPTOR.fields_by_name:
                        item.metadata.hostname = address
                    await queue.put(item)
            except GRPCError as error:
                await queue.put(route.reply(metadata=_failure(address, error)))

        feeds = asyncio.gather(*(feed(address) for address in addresses))
        feeds.add_done_callback(lambda _: queue.put_nowait(None) if not queue.full() else None)
        try:
            while not (feeds.done() and queue.empty()):
                item = await queue.get()
                if item is not None:
                    await stream.send_message(item)
        finally:
            feeds.cancel()
            await asyncio.gather(feeds, return_exceptions=True)


def _all(metadata: Any, key: str) -> list[str]:
    return [str(value) for value in metadata.getall(key, [])] if metadata else []


def _failure(address: str, error: GRPCError) -> common_pb2.Metadata:
    text = error.message or ""
    name = "".join(part.capitalize() for part in error.status.name.split("_"))
    return common_pb2.Metadata(
        hostname=address,
        error=f"rpc error: code = {name} desc = {text}",
        status=common_pb2.RpcStatus(code=error.status.value, message=text),
    )


async def _answer(route: Route, call: Call, stream: Stream[Any, Any]) -> None:
    if route.cardinality is Cardinality.STREAM_UNARY:
        parts = [part async for part in stream]
        await stream.send_message(await _unary(route, call, parts))
        return
    request = await stream.recv_message()
    if route.cardinality is Cardinality.UNARY_UNARY:
        await stream.send_message(await _unary(route, call, request))
        return
    async for item in _items(route, call, request):
        await stream.send_message(item)


async def _unary(route: Route, call: Call, request: Any) -> Any:
    with _translated(route):
        reply = await _method(route, call)(request)
    return route.reply(messages=[reply]) if route.wrapped else reply


async def _items(route: Route, call: Call, request: Any) -> AsyncIterator[Any]:
    with _translated(route):
        async for item in _method(route, call)(request):
            yield item


def _method(route: Route, call: Call) -> Any:
    if route.api is None or call.node.minor < route.since():
        service, _, name = route.path[1:].partition("/")
        text = f"unknown method {name} for service {service}"
        raise GRPCError(Status.UNIMPLEMENTED, text)
    return getattr(route.api(call), route.method)


class _translated(contextlib.AbstractContextManager[None]):  # noqa: N801  (used like a function)
    """Converts errors of etcd and Kubernetes as Talos does."""

    def __init__(self, route: Route) -> None:
        self._route = route

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, TalopsError):
            # For a Go client a program that does not listen yet is Unavailable.
            away = isinstance(error, UnreachableError)
            status = Status.UNAVAILABLE if away else Status.UNKNOWN
            raise GRPCError(status, error.what) from error

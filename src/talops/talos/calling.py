"""How every call is made: routing, deadline, bounded retries, errors of talops."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError

from talops.errors import TalopsError, UnreachableError
from talops.talos.answers import Answer, Reply, answers, only
from talops.talos.errors import CallFailedError, NoAnswerError, NodeDownError, OutcomeUnknownError
from talops.talos.statuses import error_from
from talops.talos.wire.machine_grpc import MachineServiceStub

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable

    from grpclib.client import StreamUnaryMethod, UnaryStreamMethod, UnaryUnaryMethod

    from talops.talos.transport import Link

Q = TypeVar("Q")
R = TypeVar("R")
M = TypeVar("M")

TIMEOUT = 15.0
PAUSES = (0.1, 0.4)  # between the attempts of a call that is safe to repeat

_LOW_LEVEL = (GRPCError, StreamTerminatedError, ProtocolError, TimeoutError, OSError)
# What grpclib and protobuf raise while they read headers and messages that are not gRPC's.
_UNREADABLE = (CallFailedError, DecodeError, KeyError, ValueError, AssertionError)
# What a stream that only reads may send in all.
MOST_COLLECTED = 256 << 20


@dataclass(frozen=True)
class Route:
    """The node that a call is for. Empty: the connected one."""

    node: str | None = None

    def metadata(self) -> list[tuple[str, str]]:
        return [("runtime", "Talos"), *([("node", self.node)] if self.node else [])]


class Caller:
    """Makes calls over one link, for one node behind it."""

    def __init__(self, link: Link, route: Route | None = None) -> None:
        self.link = link
        self.route = route or Route()
        self.where = f"{self.route.node} via {link.where}" if self.route.node else link.where
        self._metadata = self.route.metadata()

    @cached_property
    def machine_service(self) -> MachineServiceStub:
        """One for all families of calls, because building it creates about sixty methods."""
        return MachineServiceStub(self.link)

    async def unary(
        self,
        method: UnaryUnaryMethod[Q, R],
        request: Q,
        *,
        safe: bool = False,
        timeout: float = TIMEOUT,  # noqa: ASYNC109  (it travels to the node as grpc-timeout)
    ) -> R:
        """One request, one reply. Only a `safe` call is sent again when its reply is lost."""
        deadline = time.monotonic() + timeout

        async def attempt() -> R:
            return await self._send(method, request, deadline, self._metadata)

        if safe:
            return await self._retried(attempt, deadline)
        await self._connect(deadline)
        try:
            return await attempt()
        except UnreachableError as error:
            raise _unknown(error) from error

    async def one(
        self,
        method: UnaryUnaryMethod[Q, Any],
        request: Q,
        *,
        safe: bool = False,
        timeout: float = TIMEOUT,  # noqa: ASYNC109
    ) -> Any:
        """The single message inside the reply of a MachineService-like call."""
        return only(await self.unary(method, request, safe=safe, timeout=timeout), self.where)

    async def fan_out(
        self,
        method: UnaryUnaryMethod[Q, Any],
        request: Q,
        nodes: list[str],
        *,
        timeout: float = TIMEOUT,  # noqa: ASYNC109
    ) -> list[Answer[Any]]:
        """One call that the endpoint forwards to all `nodes`; each answers separately."""
        metadata = [("runtime", "Talos"), *(("nodes", node) for node in nodes)]
        deadline = time.monotonic() + timeout
        await self._connect(deadline)
        reply: Reply[Any] = await self._send(method, request, deadline, metadata)
        return answers(reply, self.link.where)

    async def stream(
        self,
        method: UnaryStreamMethod[Q, R],
        request: Q,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncGenerator[R]:
        """The items of a server stream, until it ends; without a deadline unless one is given."""
        try:
            async with method.open(timeout=timeout, metadata=self._metadata) as stream:
                await stream.send_message(request, end=True)
                async for item in stream:
                    yield item
        except (*_LOW_LEVEL, *_UNREADABLE) as error:
            raise await self._translated(error) from error

    async def patient(
        self, stream: AsyncGenerator[R], what: str, patience: float | None
    ) -> AsyncGenerator[R]:
        """The items of a stream; a longer pause between two of them is an error."""
        async with aclosing(stream) as items:
            while True:
                try:
                    async with asyncio.timeout(patience):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise NoAnswerError(
                        f"{what} did not continue within {patience:g} s",
                        where=self.where,
                        hint="the node may be overloaded or down",
                    ) from error
                yield item

    async def collect(
        self,
        method: UnaryStreamMethod[Q, R],
        request: Q,
        *,
        timeout: float,  # noqa: ASYNC109
    ) -> list[R]:
        """All items of a short stream that only reads; a broken stream is read again."""
        deadline = time.monotonic() + timeout

        async def attempt() -> list[R]:
            found: list[R] = []
            size = 0
            async with aclosing(self.stream(method, request, timeout=_left(deadline))) as items:
                async for item in items:
                    size += item.ByteSize()  # type: ignore[attr-defined]  # a protobuf message
                    if size > MOST_COLLECTED:
                        raise CallFailedError("the node does not stop sending", where=self.where)
                    found.append(item)
            return found

        return await self._retried(attempt, deadline)

    async def upload(
        self,
        method: StreamUnaryMethod[Q, Any],
        parts: AsyncIterable[Q],
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Any:
        try:
            async with method.open(timeout=timeout, metadata=self._metadata) as stream:
                async for part in parts:
                    await stream.send_message(part)
                await stream.end()
                reply = await stream.recv_message()
        except (*_LOW_LEVEL, *_UNREADABLE) as error:
            raise await self._translated(error) from error
        if reply is None:
            raise CallFailedError("the node answered without a message", where=self.where)
        return only(reply, self.where)

    async def _retried(self, attempt: Callable[[], Awaitable[R]], deadline: float) -> R:
        for pause in PAUSES:
            try:
                await self._connect(deadline)
                return await attempt()
            except UnreachableError:
                if time.monotonic() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)
        await self._connect(deadline)
        return await attempt()

    async def _connect(self, deadline: float) -> None:
        """Nothing is sent before this succeeds, so its errors are unambiguous."""
        if self.link.connected:
            return
        try:
            async with asyncio.timeout(_left(deadline)):
                await self.link.__connect__()
        except TimeoutError as error:
            raise NodeDownError(
                "no connection in time", where=self.where, hint="check that the node is up"
            ) from error

    async def _send(
        self,
        method: UnaryUnaryMethod[Q, R],
        request: Q,
        deadline: float,
        metadata: list[tuple[str, str]],
    ) -> R:
        try:
            return await method(request, timeout=_left(deadline), metadata=metadata)
        except (*_LOW_LEVEL, *_UNREADABLE) as error:
            raise await self._translated(error) from error

    async def _translated(self, error: Exception) -> TalopsError:
        if isinstance(error, CallFailedError):  # a message that must not be read
            return CallFailedError(error.what, where=self.where)
        if isinstance(error, GRPCError):
            return error_from(error.status, error.message, self.where)
        if isinstance(error, StreamTerminatedError):
            return await self.link.loss_error()
        if isinstance(error, TimeoutError):
            return NoAnswerError(
                "no answer in time", where=self.where, hint="the node may be overloaded or down"
            )
        if isinstance(error, _UNREADABLE):
            return CallFailedError(
                f"the answer of the node cannot be read: {error or type(error).__name__}",
                where=self.where,
                hint="check that the address is a Talos node of a version that talops supports",
            )
        return NodeDownError(f"the connection failed: {error}", where=self.where)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _unknown(error: UnreachableError) -> UnreachableError:
    if "connect: " in error.what:  # an endpoint could not dial the node: the call never got there
        return error
    return OutcomeUnknownError(
        f"{error.what}; whether the node acts on the call is unknown",
        where=error.where,
        hint="check the node before you repeat the call",
    )

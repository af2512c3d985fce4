"""A Talos node to call: `async with Talos.connect(address, credentials) as talos`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

from talops.errors import TalopsError, UnreachableError
from talops.talos.calling import Caller, Route
from talops.talos.calls.cluster import ClusterCalls
from talops.talos.calls.etcd import EtcdCalls
from talops.talos.calls.files import FileCalls
from talops.talos.calls.logs import LogCalls
from talops.talos.calls.machine import MachineCalls
from talops.talos.calls.services import ServiceCalls
from talops.talos.calls.storage import StorageCalls
from talops.talos.calls.upgrade import UpgradeCalls
from talops.talos.resources import ResourceCalls
from talops.talos.transport import API_PORT, Link

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from types import TracebackType

    from talops.talos.calls.services import Version
    from talops.talos.credentials import Credentials, Maintenance

T = TypeVar("T")
PATIENCE = 1.0


class Talos:
    """The calls of one node. Connects with the first call and stays connected until closed."""

    def __init__(self, link: Link, node: str | None = None) -> None:
        self.link = link
        caller = Caller(link, Route(node))
        self.caller = caller
        self.where = caller.where
        self.machine = MachineCalls(caller)
        self.services = ServiceCalls(caller)
        self.logs = LogCalls(caller)
        self.etcd = EtcdCalls(caller)
        self.storage = StorageCalls(caller)
        self.files = FileCalls(caller)
        self.cluster = ClusterCalls(caller)
        self.upgrade = UpgradeCalls(caller)
        self.resources = ResourceCalls(caller)

    @classmethod
    def connect(
        cls,
        address: str,
        access: Credentials | Maintenance,
        *,
        port: int = API_PORT,
        once: bool = False,
    ) -> Talos:
        """Lazy: the connection is made, and may fail, with the first call. Needs a running loop.

        `once`: a lost connection stays lost, so that no other machine answers a later call.
        """
        return cls(Link(*split_address(address, port), access, once=once))

    @classmethod
    async def connect_any(
        cls, endpoints: Sequence[str], access: Credentials | Maintenance
    ) -> Talos:
        """The first endpoint that accepts us, in this order unless one does not answer."""
        clients = [cls.connect(endpoint, access) for endpoint in endpoints]
        try:
            chosen = await first_connected(clients)
        except BaseException:
            for talos in clients:
                talos.close()
            raise
        for talos in clients:
            if talos is not chosen:
                talos.close()
        return chosen

    def node(self, name: str) -> Talos:
        """The calls of another node, proxied by this endpoint over the same connection."""
        return Talos(self.link, name)

    async def connected(self) -> None:
        """Connect now, or raise why that is not possible."""
        await self.link.__connect__()

    async def version(self) -> Version:
        return await self.services.version()

    def close(self) -> None:
        self.link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


async def each(
    nodes: Iterable[Talos], call: Callable[[Talos], Awaitable[T]]
) -> list[tuple[Talos, T | TalopsError]]:
    """Call all nodes at once; one that fails returns its error and does not affect the others."""

    async def attempt(node: Talos) -> tuple[Talos, T | TalopsError]:
        try:
            return node, await call(node)
        except TalopsError as error:
            return node, error

    return list(await asyncio.gather(*(attempt(node) for node in nodes)))


def split_address(address: str, port: int = API_PORT) -> tuple[str, int]:
    """Host and port of `10.0.0.1`, `node:50000`, `fd00::1` or `[fd00::1]:50000`."""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else port
    host, separator, tail = address.rpartition(":")
    if separator and tail.isdigit() and ":" not in host:
        return host, int(tail)
    return address, port


async def first_connected(clients: Sequence[Talos]) -> Talos:
    """Try one after the other; one that has not answered after a second is not waited for."""
    errors: list[TalopsError] = []
    waiting = list(clients)
    pending: dict[asyncio.Task[None], Talos] = {}
    try:
        while waiting or pending:
            if waiting:
                talos = waiting.pop(0)
                pending[asyncio.create_task(talos.connected())] = talos
            done, _ = await asyncio.wait(
                pending, timeout=PATIENCE if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                talos = pending.pop(task)
                error = task.exception()
                if error is None:
                    return talos
                if not isinstance(error, TalopsError):
                    raise error
                errors.append(error)
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
    raise _worst(errors)


def _worst(errors: list[TalopsError]) -> TalopsError:
    """A refusal before a timeout: the user can act on it."""
    if not errors:
        return TalopsError(
            "there is no endpoint to connect to",
            where="talosconfig",
            hint="pass --endpoints, or set them in the talosconfig",
        )
    return next((e for e in errors if not isinstance(e, UnreachableError)), errors[-1])

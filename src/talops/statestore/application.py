"""Build the ASGI application from a store, a vault and a guard."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.statestore.access.network import client_address, is_trusted
from talops.statestore.admin import Admin
from talops.statestore.endpoint import StateEndpoint
from talops.statestore.gate import Gate
from talops.statestore.metrics import Metrics
from talops.statestore.model import Retention
from talops.statestore.service import Service

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from talops.statestore.access.network import Network
    from talops.statestore.encryption.sealing import BodyCipher
    from talops.statestore.guard import Guard, OpenGuard
    from talops.statestore.store import Store

MEGABYTE = 1024 * 1024
DEFAULT_BODY_LIMIT = 64 * MEGABYTE
PRUNE_SECONDS = 30.0
# A crash loses the reads and logins of at most this time; changes are recorded with themselves.
AUDIT_SECONDS = 0.5
SWEEP_SECONDS = 3600.0
_FOR_PEOPLE = frozenset({"/healthz", "/readyz", "/metrics"})


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = DEFAULT_BODY_LIMIT
    keep: Retention = field(default_factory=Retention)
    # Reverse proxies that may name the address of a client.
    proxies: tuple[Network, ...] = ()

    def is_proxy(self, address: str) -> bool:
        return bool(self.proxies) and is_trusted(address, self.proxies)


class Application:
    def __init__(
        self, store: Store, vault: BodyCipher, guard: Guard | OpenGuard, limits: Limits
    ) -> None:
        self._store = store
        self._keep = limits.keep
        self._grown: set[str] = set()
        metrics = Metrics()
        self._proxies = limits.proxies
        gate = Gate(guard, metrics, store.note)
        service = Service(store, vault, metrics, body_limit=limits.body, written=self._grown.add)
        admin = Admin(store, vault, service, gate, metrics)
        self.lifecycle = admin.lifecycle
        self._endpoint = StateEndpoint(service, gate, metrics)
        self._admin = admin.application()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._proxies and scope["client"]:
            peer, port = scope["client"]
            address = client_address(peer, scope["headers"], self._proxies)
            scope = {**scope, "client": (address, port)}
        path: str = scope["path"]
        if path in _FOR_PEOPLE or path.startswith("/-/"):
            await self._admin(scope, receive, send)
        else:
            await self._endpoint(scope, receive, send)

    async def maintain(self) -> None:
        """Apply retention and remove leftovers until cancelled; retry failures later."""
        swept = 0.0
        while True:
            with contextlib.suppress(TalopsError):
                await self.prune()
                if time.monotonic() - swept > SWEEP_SECONDS:
                    await self._store.sweep(time.time())
                    swept = time.monotonic()
            await asyncio.sleep(PRUNE_SECONDS)

    async def record(self) -> None:
        """Write waiting entries of the audit until cancelled; retry failures later."""
        while True:
            await asyncio.sleep(AUDIT_SECONDS)
            with contextlib.suppress(TalopsError):
                await self._store.flush_audit()

    async def prune(self) -> None:
        """Apply retention to the states with new versions since the last time."""
        if not (self._keep.count or self._keep.days):
            self._grown.clear()
            return
        while self._grown:
            state = self._grown.pop()
            await self._store.prune(state, self._keep, time.time())

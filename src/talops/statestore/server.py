"""Run the server: sockets, signals, drain."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvicorn

from talops.errors import TalopsError
from talops.statestore.access import crowd
from talops.statestore.access.network import is_loopback
from talops.statestore.access.private import require_private
from talops.statestore.access.reloading import Reloading
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard, LocalGuard
from talops.statestore.model import SERVER, AuditEntry
from talops.statestore.slow_clients import SlowClientProtocol, watch
from talops.statestore.stores import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.stores import StoreAddress
    from talops.statestore.tls import TlsFiles

DRAIN_SECONDS = 30
KEEP_ALIVE_SECONDS = 60
BACKLOG = 1024
THREADS = 24


@dataclass(frozen=True, slots=True)
class Settings:
    """`users` None disables authentication, which is allowed only on a loopback address.

    Passwords and states leave the machine only encrypted; `plain` says that a proxy does that.
    """

    host: str
    port: int
    store: StoreAddress
    users: Path | None
    keyring: Keyring | None = None
    tls: TlsFiles | None = None
    limits: Limits = field(default_factory=Limits)
    plain: bool = False
    # Accept versions that were written before the server had a key.
    plaintext: bool = False

    def __post_init__(self) -> None:
        if is_loopback(self.host):
            return
        where = f"{self.host}:{self.port}"
        if self.users is None:
            raise TalopsError(
                "a server without users can only listen on loopback",
                where=where,
                hint="add a user: talops state user add NAME --users users.json",
            )
        if self.tls is None and not self.plain:
            raise TalopsError(
                "without TLS, passwords and states would cross the network in clear text",
                where=where,
                hint="--tls-self-made DIRECTORY, or --plain-behind-proxy if a proxy adds TLS",
            )


def _silent(_: str) -> None:
    pass


async def serve(
    settings: Settings, ready: Callable[[str], None], say: Callable[[str], None] = _silent
) -> None:
    """Serve until SIGTERM or SIGINT, then finish open requests. `ready` receives the address,
    `say` what an administrator must know. SIGHUP reads users and certificates again.
    """
    # Eight uploads that wait for the disk must not block the threads of other requests.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
    guard = Guard(settings.users, say=say) if settings.users else LocalGuard()
    listener = _listen(settings)
    with contextlib.closing(listener):
        store = await open_store(settings.store, settings.keyring)
        try:
            vault = BodyCipher(settings.keyring, plaintext=settings.plaintext)
            application = Application(store, vault, guard, settings.limits)
            store.note(_entry("start"))
            await store.flush_audit()
            config = _config(settings, application)
            reloading = Reloading(guard, settings.tls, config, say)
            server = _DrainingServer(config, application, reloading.reload)
            _calm_the_collector()
            ready(_address(settings, listener))
            async with _beside(
                application.maintain(), application.record(), watch(server.server_state)
            ):
                await server.serve(sockets=[listener])
            with contextlib.suppress(TalopsError):
                await application.prune()
                store.note(_entry("stop"))
        finally:
            await store.close()


def _entry(action: str) -> AuditEntry:
    return AuditEntry(time.time(), SERVER, "", action, "")


def _calm_the_collector() -> None:
    """Requests create no reference cycles: collecting at every 700th object wastes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


class _DrainingServer(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, application: Application, reload: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._application = application
        self._reload = reload

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signal again at the end, before the store is closed.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._drain)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _drain(self) -> None:
        self._application.lifecycle.draining = True
        self.should_exit = True


def _config(settings: Settings, application: Application) -> uvicorn.Config:
    tls = settings.tls
    if tls:
        require_private(tls.key, "the private key")
    limit = crowd.of_this_process(settings.limits.is_proxy)
    demand = ssl.CERT_REQUIRED if tls and tls.client_ca else ssl.CERT_NONE
    return uvicorn.Config(
        application,
        http=type("Protocol", (SlowClientProtocol,), {"crowd": limit}),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        ssl_ca_certs=str(tls.client_ca) if tls and tls.client_ca else None,
        ssl_cert_reqs=demand,
    )


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise TalopsError(
            f"cannot listen: {error.strerror}",
            where=f"{settings.host}:{settings.port}",
            hint="use another address: --listen HOST:PORT",
        ) from error


def _address(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.tls else 'http'}://{host}:{listener.getsockname()[1]}"


@contextlib.asynccontextmanager
async def _beside(*coroutines: Coroutine[None, None, None]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

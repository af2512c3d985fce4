"""Run the server: sockets, signals, drain."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import uvicorn

from talops.errors import TalopsError
from talops.statestore.application import Application, Limits
from talops.statestore.guard import Guard, OpenGuard
from talops.statestore.sealing import BodyCipher
from talops.statestore.slow_clients import SlowClientProtocol, watch
from talops.statestore.stores import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path

    from talops.statestore.keys import Keyring
    from talops.statestore.stores import StoreAddress
    from talops.statestore.tls import TlsFiles

DRAIN_SECONDS = 30
KEEP_ALIVE_SECONDS = 60
BACKLOG = 1024
THREADS = 24


@dataclass(frozen=True, slots=True)
class Settings:
    """`users` None disables authentication, which is allowed only on a loopback address."""

    host: str
    port: int
    store: StoreAddress
    users: Path | None
    keyring: Keyring | None = None
    tls: TlsFiles | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.users is None and self.host not in {"127.0.0.1", "::1", "localhost"}:
            raise TalopsError(
                "a server without users can only listen on loopback",
                where=f"{self.host}:{self.port}",
                hint="add a user: talops state user add NAME --users users.json",
            )


async def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish open requests. `ready` receives the address."""
    # Eight uploads that wait for the disk must not block the threads of other requests.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
    guard = Guard(settings.users) if settings.users else OpenGuard()
    listener = _listen(settings)
    with contextlib.closing(listener):
        store = await open_store(settings.store)
        try:
            application = Application(store, BodyCipher(settings.keyring), guard, settings.limits)
            server = _DrainingServer(_config(settings, application), application)
            _calm_the_collector()
            ready(_address(settings, listener))
            async with _beside(application.maintain(), watch(server.server_state)):
                await server.serve(sockets=[listener])
            with contextlib.suppress(TalopsError):
                await application.prune()
        finally:
            await store.close()


def _calm_the_collector() -> None:
    """Requests create no reference cycles: collecting at every 700th object wastes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


class _DrainingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signal again at the end, before the store is closed.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._drain)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _drain(self) -> None:
        self._application.lifecycle.draining = True
        self.should_exit = True


def _config(settings: Settings, application: Application) -> uvicorn.Config:
    tls = settings.tls
    demand = ssl.CERT_REQUIRED if tls and tls.client_ca else ssl.CERT_NONE
    return uvicorn.Config(
        application,
        http=SlowClientProtocol,
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

"""Run the server: its socket, its signals, and the observers beside it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from talops.app.logins import Logins, is_loopback, own_names
from talops.errors import TalopsError
from talops.web.serving.application import Page
from talops.web.serving.security import Names
from talops.web.serving.sessions import Sessions
from talops.web.telling import Messenger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from talops.web.telling import Hook
    from talops.web.watching.site import WatchedSite

DRAIN_SECONDS = 5
BACKLOG = 128


@dataclass(frozen=True)
class Certificate:
    """PEM files: the chain and its key."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class Settings:
    """Off loopback, passwords and pages cross a network: users and TLS are required."""

    host: str
    port: int
    users: Path | None = None
    certificate: Certificate | None = None
    # Other names under which browsers reach this server.
    names: tuple[str, ...] = ()
    # Who is told when the state of a cluster changes.
    hooks: tuple[Hook, ...] = ()

    def __post_init__(self) -> None:
        if is_loopback(self.host):
            return
        where = f"{self.host}:{self.port}"
        if self.users is None:
            raise TalopsError(
                "a page without users can only be served on loopback",
                where=where,
                hint="add a user: talops state user add NAME --users users.json",
            )
        if self.certificate is None:
            raise TalopsError(
                "without TLS, passwords would cross the network in clear text",
                where=where,
                hint="--tls-self-made DIRECTORY, or --tls-certificate and --tls-key",
            )


async def serve(
    settings: Settings,
    sites: Mapping[str, WatchedSite],
    ready: Callable[[str], None],
    say: Callable[[str], None],
) -> None:
    """Until SIGTERM or SIGINT. `ready` receives the address, `say` what an operator must know."""
    tls = settings.certificate is not None
    sessions = Sessions(Logins(settings.users, say), tls=tls) if settings.users else None
    page = Page(sites, sessions)
    names = Names(
        frozenset({*own_names(settings.host), *settings.names}), is_loopback(settings.host)
    )
    listener = _listen(settings)
    with contextlib.closing(listener):
        server = _Server(_config(settings, page.application(names, tls=tls)), page)
        ready(_address(settings, listener))
        messenger = Messenger(sites, settings.hooks, page.overview, say)
        beside = [*(site.run() for site in sites.values()), messenger.run()]
        observers = [asyncio.create_task(each) for each in beside]
        try:
            await server.serve(sockets=[listener])
        finally:
            for task in observers:
                task.cancel()
            await asyncio.gather(*observers, return_exceptions=True)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, page: Page) -> None:
        super().__init__(config)
        self._page = page

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signal again at the end, before the observers have stopped.
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        """Streams never end on their own."""
        self._page.streams.close()
        self.should_exit = True


def _config(settings: Settings, application: object) -> uvicorn.Config:
    certificate = settings.certificate
    return uvicorn.Config(
        application,  # type: ignore[arg-type]  # an ASGI application
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
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
    scheme = "https" if settings.certificate else "http"
    return f"{scheme}://{host}:{listener.getsockname()[1]}/"

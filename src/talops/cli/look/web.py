"""talops web: the page."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.output import note

if TYPE_CHECKING:
    from talops.web.serving.server import Certificate

Sites = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Directories of inventories.", metavar="[SITE]...", show_default="current directory"
    ),
]
Listen = Annotated[str, typer.Option(help="Address and port to listen on.")]
Every = Annotated[str, typer.Option(help="Time between two looks at a cluster, like 60s.")]
DriftEvery = Annotated[
    str, typer.Option(help="Time between two comparisons with the inventory, like 30m.")
]
Users = Annotated[Path | None, typer.Option(help="Users file; see `talops state user add`.")]
Chain = Annotated[Path | None, typer.Option("--tls-certificate", help="PEM certificate chain.")]
PrivateKey = Annotated[Path | None, typer.Option("--tls-key", help="PEM private key.")]
SelfMade = Annotated[
    Path | None,
    typer.Option(help="Create and store a self-signed certificate in this directory."),
]
Name = Annotated[
    list[str] | None,
    typer.Option("--name", help="Another name under which browsers reach it (repeatable)."),
]
Webhooks = Annotated[
    Path | None,
    typer.Option(help="File with webhooks for changes of state, one KIND=URL per line."),
]


def register(root: typer.Typer) -> None:
    root.command("web")(web)


def web(
    ctx: typer.Context,
    sites: Sites = None,
    listen: Listen = "127.0.0.1:8080",
    every: Every = "60s",
    drift_every: DriftEvery = "30m",
    users: Users = None,
    tls_certificate: Chain = None,
    tls_key: PrivateKey = None,
    tls_self_made: SelfMade = None,
    name: Name = None,
    webhooks: Webhooks = None,
) -> None:
    """Serve a page that shows clusters, their drift and their runs in a browser."""
    from talops.cli.look.check_output import seconds
    from talops.web.serving.server import Settings, serve
    from talops.web.sites import watched
    from talops.web.telling import hooks_in
    from talops.web.watching.looks import Intervals

    host, port = _listen_address(listen)
    names = tuple(name or ())
    certificate = _certificate(tls_certificate, tls_key, tls_self_made, host, names)
    hooks = hooks_in(webhooks) if webhooks else ()
    settings = Settings(host, port, users, certificate, names, hooks)
    intervals = Intervals(max(seconds(every), 1.0), max(seconds(drift_every), 1.0))
    roots = sites or [ctx.find_root().obj or Path.cwd()]
    found = watched(roots, dict(os.environ), intervals)
    asyncio.run(serve(settings, found, lambda address: note(f"the page is at {address}"), note))
    note("the page is closed")


def _listen_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise typer.BadParameter("expected an address and a port, like 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def _certificate(
    chain: Path | None, key: Path | None, own: Path | None, host: str, names: tuple[str, ...]
) -> Certificate | None:
    from talops.app.logins import self_made
    from talops.web.serving.server import Certificate

    if own is not None:
        made, made_key, fingerprint = self_made(own, host, names)
        note(f"certificate {made}, SHA-256 {fingerprint}")
        return Certificate(made, made_key)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise typer.BadParameter("--tls-certificate and --tls-key must be used together")
    return Certificate(chain, key)

"""talops status: the cluster on one screen."""

from __future__ import annotations

import asyncio
import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, print_json

if TYPE_CHECKING:
    from talops.site.site import Site
    from talops.views.status import Status

WIDEST = 100
CLEAR = "\033[H\033[2J"


def register(root: typer.Typer) -> None:
    root.command("status")(status)


def status(
    directory: Directory = None,
    watch: Annotated[bool, typer.Option("--watch", help="Repeat until interrupted.")] = False,
    interval: Annotated[
        float, typer.Option("--interval", help="Seconds between two looks with --watch.", min=1)
    ] = 10.0,
    output: Output = Format.TEXT,
) -> None:
    """Show the cluster on one screen; exit 1 if something is wrong."""
    from talops.app.verifying import require_cluster
    from talops.cli.opening import site_of

    assert directory is not None
    site = site_of(directory)
    require_cluster(site)
    found = asyncio.run(_shown(site, output, interval if watch else None))
    if not found.healthy:
        raise typer.Exit(1)


async def _shown(site: Site, output: Format, interval: float | None) -> Status:
    from talops.app.status.look import look

    while True:
        found = await look(site)
        _show(found, output, clear=interval is not None)
        if interval is None:
            return found
        await asyncio.sleep(interval)


def _show(found: Status, output: Format, *, clear: bool) -> None:
    from rich.text import Text

    from talops.views.status import status_lines

    if output is Format.JSON:
        print_json(found.as_dict())
        return
    if clear and sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    out = console()
    width = min(shutil.get_terminal_size().columns, WIDEST)
    for text, style in status_lines(found, width):
        out.print(Text(text, style))

"""talops resume: end a pause."""

from __future__ import annotations

import asyncio

import typer

from talops.cli.options import Directory
from talops.cli.pause import site_with_states


def register(root: typer.Typer) -> None:
    root.command("resume")(resume)


def resume(directory: Directory = None) -> None:
    """Allow disruptive changes of this cluster again."""
    from talops.app import pauses

    before = asyncio.run(pauses.resume(site_with_states(directory)))
    typer.echo(f"resumed; it was {before}" if before else "it was not paused")

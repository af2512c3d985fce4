"""talops replace: a node leaves the cluster and joins it again as a new one."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from talops.cli.options import (
    AcceptFingerprint,
    Directory,
    DrainTimeout,
    Format,
    Now,
    Output,
    Reinstall,
    Yes,
)


def register(root: typer.Typer) -> None:
    root.command("replace")(replace)


def replace(
    node: Annotated[str, typer.Argument(help="Name of the node to replace.")],
    directory: Directory = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    drain_timeout: DrainTimeout = None,
    now: Now = False,
    accept_fingerprint: AcceptFingerprint = None,
    reinstall: Reinstall = None,
    output: Output = Format.TEXT,
) -> None:
    """Replace a node: drain, leave the cluster, create its VM again, join."""
    from talops.app import runs
    from talops.app.admission import admission
    from talops.app.rolling import roll_options
    from talops.cli.opening import site_of
    from talops.cli.running import in_terminal

    assert directory is not None
    site = site_of(directory)
    run = runs.replace(
        site,
        node,
        runs.Manner(dry_run, yes),
        admission=admission(site.cluster, accept_fingerprint or (), reinstall or ()),
        rolls=roll_options(site.cluster, "", drain_timeout, (), now=now),
    )
    result = asyncio.run(in_terminal(site, run, output))
    if result.exit_code == 0:
        asyncio.run(runs.replaced(site, node))
    raise typer.Exit(result.exit_code)

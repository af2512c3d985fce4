"""talops configure: render OpenTofu files from the inventory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.opening import inventory_of
from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.plural import count

if TYPE_CHECKING:
    from talops.generated import Change
    from talops.inventory.model import Cluster
    from talops.redaction import Secret
    from talops.site.site import ClosedSite


def register(root: typer.Typer) -> None:
    root.command("configure")(configure)


def configure(
    directory: Directory = None,
    check: Annotated[
        bool, typer.Option("--check", help="Do not write files; exit 2 if files would change.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite generated files that were edited by hand.")
    ] = False,
    no_init: Annotated[
        bool, typer.Option("--no-init", help="Do not initialise the layers afterwards.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Render the OpenTofu files from the inventory and initialise the layers."""
    from talops.app import configuring

    assert directory is not None
    root, cluster = directory.resolve(), _cluster(directory)

    async def opened() -> ClosedSite:
        return await _with_access(cluster, root)

    planned = asyncio.run(
        configuring.configure(cluster, root, note, opened, check=check, force=force)
    )
    _report(planned, output, check=check)
    if check and planned:
        raise typer.Exit(2)
    if not check and not no_init:
        _init(directory)


async def _with_access(cluster: Cluster, root: Path) -> ClosedSite:
    """States in local files need no credentials."""
    from talops.app.opening import with_credentials
    from talops.cli.tools.progress import progress
    from talops.site.site import ClosedSite

    closed = ClosedSite(cluster, root, dict(os.environ), {})
    if cluster.state.kind == "local":
        return closed
    with progress() as emit:
        return await with_credentials(closed, emit)


def _init(directory: Path) -> None:
    """Skipped without credentials: `init` needs them for provider and state."""
    from talops.cli.infra.opening import opened
    from talops.cli.opening import closed_site, with_credentials

    closed = closed_site(directory)
    if closed.cluster.proxmox is None or not _available(with_credentials(closed).credentials):
        return
    with opened(directory, None, Format.TEXT) as run:
        asyncio.run(run.ensure_init())


def _available(credentials: Mapping[str, Secret]) -> bool:
    token = {"proxmox_api_token_id", "proxmox_api_token_secret"}
    return token <= credentials.keys() or "PROXMOX_VE_API_TOKEN" in os.environ


def _cluster(directory: Path) -> Cluster:
    cluster = inventory_of(directory)
    if cluster.proxmox is None:
        note("bare metal: no OpenTofu files to render")
    return cluster


def _report(planned: list[Change], output: Format, *, check: bool) -> None:
    if output is Format.JSON:
        print_json(
            {
                "version": 1,
                "changed": not check and bool(planned),
                "files": [{"path": c.path, "action": c.action.value} for c in planned],
            }
        )
        return
    marks = {"create": "+", "update": "~", "remove": "-"}
    for change in planned:
        typer.echo(f"{marks[change.action.value]} {change.path}")
    if not planned:
        typer.echo("up to date")
        return
    verb = "to write" if check else "written"
    typer.echo(f"{count(len(planned), 'file')} {verb}")

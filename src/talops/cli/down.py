"""talops down: destroy the cluster, after its name was confirmed."""

from __future__ import annotations

from typing import Annotated

import typer

from talops.cli.options import AllowDestroy, Directory, Format, Output
from talops.errors import TalopsError


def register(root: typer.Typer) -> None:
    root.command("down")(down)


def down(
    directory: Directory = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation; requires --cluster.")
    ] = False,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Name of the cluster to destroy, to confirm.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Destroy the VMs of dead nodes without resetting them.")
    ] = False,
    all_layers: Annotated[
        bool,
        typer.Option("--all-layers", help="Also destroy hypervisor settings and legacy VMs."),
    ] = False,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep the empty local state files.")
    ] = False,
    allow_destroy: AllowDestroy = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be destroyed; exit 2 if anything.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Destroy the cluster: reset the nodes, destroy their VMs, keep the secrets."""
    from talops.cli.confirming import named
    from talops.cli.running import Job, afterwards, run_job
    from talops.cli.site import site_of
    from talops.cli.state.context import backend_of
    from talops.pipeline.selection import ALL
    from talops.workflows import down as workflow

    assert directory is not None
    site = site_of(directory)
    name = site.cluster.name
    if cluster is not None and cluster != name:
        raise TalopsError(f"this inventory is cluster {name}, not {cluster}", where=str(site.root))
    if yes and cluster is None and not dry_run:
        raise TalopsError(
            "--yes requires the name of the cluster", hint=f"talops down --yes --cluster {name}"
        )
    run_job(
        Job(
            command="down",
            site=site,
            build=lambda recorder: workflow.down(
                site,
                recorder,
                lambda: backend_of(site.cluster, site.root, site.credentials),
                force=force,
                every_layer=all_layers,
                keep_state=keep_state,
                allow_destroy=frozenset(allow_destroy or ()),
            ),
            selection=ALL,
            confirm=named(
                name, f"destroys cluster {name}", f"talops down --yes --cluster {name}", yes
            ),
            next_commands=afterwards("talops down", "talops up"),
            output=output,
            dry_run=dry_run,
        )
    )

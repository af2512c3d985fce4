"""talops recover: back to one whole cluster, after whatever went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from talops.cli.options import Directory, Format, Output, Yes


def register(root: typer.Typer) -> None:
    root.command("recover")(recover)


def recover(
    directory: Directory = None,
    from_snapshot: Annotated[
        Path | None,
        typer.Option("--from-snapshot", help="etcd is lost: found it anew from this file."),
    ] = None,
    from_copy: Annotated[
        bool, typer.Option(help="The file is a database copied from a node, without a digest.")
    ] = False,
    bootstrap_again: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-again",
            metavar="CLUSTER",
            help="etcd is lost and may start empty; type the cluster's name.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what is found and what would be done; exit 2.")
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Bring the cluster back after a cut-off run, a lost state, or on an empty Proxmox."""
    from talops.cli.confirming import agreed
    from talops.cli.look.outside_checks import outside_checks
    from talops.cli.running import Job, afterwards, run_job
    from talops.cli.site import site_of
    from talops.cli.state.context import backend_of
    from talops.pipeline.selection import ALL
    from talops.stages.restore import word_of
    from talops.workflows import recover as workflow

    assert directory is not None
    site = site_of(directory)
    word = word_of(site.cluster.name, from_snapshot, bootstrap_again, from_copy=from_copy)
    run_job(
        Job(
            command="recover",
            site=site,
            build=lambda recorder: workflow.recover(
                site,
                recorder,
                word,
                lambda: backend_of(site.cluster, site.root, site.credentials),
                lambda: outside_checks(site, strict=False),
            ),
            selection=ALL,
            confirm=agreed(yes, "talops recover --yes"),
            next_commands=afterwards("talops recover", "talops verify"),
            output=output,
            dry_run=dry_run,
        )
    )

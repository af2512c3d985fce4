"""talops recover: bring a cluster back after an interrupted run, a lost state or a lost etcd."""

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
        typer.Option("--from-snapshot", help="Restore etcd from this snapshot."),
    ] = None,
    from_copy: Annotated[
        bool,
        typer.Option(help="The snapshot is a database file copied from a node, without a digest."),
    ] = False,
    bootstrap_again: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-again",
            metavar="CLUSTER",
            help="Bootstrap a new, empty etcd; takes the name of the cluster.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the findings and the plan; exit 2 if it has changes."),
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Recover from an interrupted run, a lost state or a lost etcd."""
    from talops.cli.confirming import agreed
    from talops.cli.look.outside_checks import outside_checks
    from talops.cli.running import Job, afterwards, run_job
    from talops.cli.site import site_of
    from talops.cli.state.context import backend_of
    from talops.pipeline.selection import ALL
    from talops.stages.restore import recovery_choice
    from talops.workflows import recover as workflow

    assert directory is not None
    site = site_of(directory)
    choice = recovery_choice(site.cluster.name, from_snapshot, bootstrap_again, from_copy=from_copy)
    run_job(
        Job(
            command="recover",
            site=site,
            build=lambda recorder: workflow.recover(
                site,
                recorder,
                choice,
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

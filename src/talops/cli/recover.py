"""talops recover: bring a cluster back after an interrupted run, a lost state or a lost etcd."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import AcceptFingerprint, Directory, Format, Output, Yes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.run import Run
    from talops.site.site import Site


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
        typer.Option(
            "--from-copy",
            help="The snapshot is a database file copied from a node, without a digest.",
        ),
    ] = False,
    from_backup: Annotated[
        str | None,
        typer.Option(
            "--from-backup",
            metavar="ID|latest",
            help="Restore etcd from this backup; what is left of a lost etcd is wiped.",
        ),
    ] = None,
    bootstrap_again: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-again",
            metavar="CLUSTER",
            help="Bootstrap a new, empty etcd; takes the name of the cluster.",
        ),
    ] = None,
    accept_fingerprint: AcceptFingerprint = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the findings and the plan; exit 2 if it has changes."),
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Recover from an interrupted run, a lost state or a lost etcd."""
    from talops.app import runs
    from talops.app.admission import admission
    from talops.cli.accepting import run_accepting
    from talops.cli.opening import site_of

    assert directory is not None
    root = directory

    def build(accepted: Sequence[str]) -> tuple[Site, Run]:
        site = site_of(root)
        return site, runs.recover(
            site,
            runs.Manner(dry_run, yes),
            from_snapshot=from_snapshot,
            from_copy=from_copy,
            bootstrap_again=bootstrap_again,
            from_backup=from_backup,
            admission=admission(site.cluster, accepted, any_again=True),
        )

    run_accepting(build, accept_fingerprint or (), output, asks=not (yes or dry_run))

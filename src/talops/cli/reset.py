"""talops reset: wipe and remove one node; `talops up` creates it again."""

from __future__ import annotations

from typing import Annotated

import typer

from talops.cli.options import Directory, Format, Output, Yes


def register(root: typer.Typer) -> None:
    root.command("reset")(reset)


def reset(
    node: Annotated[str, typer.Option("--node", help="Name of the node to reset.")],
    directory: Directory = None,
    yes: Yes = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Reset even if the node is dead or etcd loses its quorum."),
    ] = False,
    keep_vm: Annotated[
        bool, typer.Option("--keep-vm", help="Only wipe the node; keep its VM in maintenance mode.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Remove a node from the cluster, wipe it and destroy its VM."""
    from talops.app import runs
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit

    assert directory is not None
    site = site_of(directory)
    run = runs.reset(site, node, runs.Manner(dry_run, yes), force=force, keep_vm=keep_vm)
    run_and_exit(site, run, output)

"""talops rollback: boot the system that a node ran before its last upgrade."""

from __future__ import annotations

from typing import Annotated

import typer

from talops.cli.options import (
    AllowUnhealthyEtcd,
    Directory,
    DrainTimeout,
    Format,
    Now,
    Output,
    Timeout,
    Yes,
)


def register(root: typer.Typer) -> None:
    root.command("rollback")(rollback)


def rollback(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.")],
    directory: Directory = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    drain_timeout: DrainTimeout = None,
    timeout: Timeout = None,
    now: Now = False,
    output: Output = Format.TEXT,
) -> None:
    """Return a node to the Talos that it ran before its last upgrade."""
    from talops.app import runs
    from talops.app.rolling import roll_options
    from talops.app.timeouts import with_timeouts
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit
    from talops.errors import TalopsError

    assert directory is not None
    if other := sorted({*(allow_unhealthy_etcd or ())} - {node}):
        raise TalopsError(
            f"only {node} stops, so --allow-unhealthy-etcd cannot name {', '.join(other)}",
            where="--allow-unhealthy-etcd",
            hint=f"to accept that etcd loses its majority: --allow-unhealthy-etcd {node}",
        )
    site = with_timeouts(site_of(directory), timeout or ())
    options = roll_options(site.cluster, "", drain_timeout, allow_unhealthy_etcd or (), now=now)
    run_and_exit(site, runs.rollback(site, node, runs.Manner(dry_run, yes), options), output)

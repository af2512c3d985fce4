"""talops down: back to nothing, and only after the cluster was named."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.cli.running import Confirm
    from talops.pipeline.planning import Plan
    from talops.views.choose import View


def register(root: typer.Typer) -> None:
    root.command("down")(down)


def down(
    directory: Directory = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needs --cluster.")] = False,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Name of the cluster, to say what you mean.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Nodes are dead: destroy without resetting them.")
    ] = False,
    all_layers: Annotated[
        bool,
        typer.Option("--all-layers", help="Also destroy hypervisor settings and legacy VMs."),
    ] = False,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Leave the emptied local state files.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would go; exit 2 if anything would.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Reset the nodes, destroy their VMs, and forget the cluster; its secrets are kept."""
    from talops import workflows
    from talops.cli.running import Job, run_job
    from talops.cli.site import site_of
    from talops.pipeline.selection import ALL

    assert directory is not None
    site = site_of(directory)
    name = site.cluster.name
    if cluster is not None and cluster != name:
        raise TalopsError(f"this inventory is cluster {name}, not {cluster}", where=str(site.root))
    if yes and cluster is None and not dry_run:
        raise TalopsError(
            "--yes needs the cluster's name", hint=f"talops down --yes --cluster {name}"
        )
    run_job(
        Job(
            command="down",
            site=site,
            build=lambda recorder: workflows.down(
                site, recorder, force=force, every_layer=all_layers, keep_state=keep_state
            ),
            selection=ALL,
            confirm=_named(name, yes=yes),
            next_commands=lambda _: ["talops up"],
            output=output,
            dry_run=dry_run,
        )
    )


def _named(name: str, *, yes: bool) -> Confirm:
    """Two steps: see what goes, then type the cluster's name."""

    async def confirm(plan: Plan, view: View) -> bool:
        return yes or await asyncio.to_thread(_ask, plan, view, name)

    return confirm


def _ask(plan: Plan, view: View, name: str) -> bool:
    if not sys.stdin.isatty():
        raise TalopsError("nobody is here to confirm", hint=f"talops down --yes --cluster {name}")
    with view.paused():
        typer.echo(f"{plan.changes} changes take cluster {name} down for good.", err=True)
        return bool(typer.prompt(f"Type {name} to go on", default="", err=True) == name)

"""talops reset: wipe and remove one node; `talops up` creates it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output, Yes
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.inventory.model import Cluster, Node


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
    from talops.cli.confirming import named
    from talops.cli.running import Job, afterwards, run_job
    from talops.cli.site import site_of
    from talops.pipeline.selection import ALL
    from talops.workflows import reset as workflow

    assert directory is not None
    site = site_of(directory)
    chosen = _node(site.cluster, node)
    run_job(
        Job(
            command="reset",
            site=site,
            build=lambda recorder: workflow.reset(
                site, recorder, chosen, force=force, keep_vm=keep_vm
            ),
            selection=ALL,
            confirm=named(node, f"removes node {node}", f"talops reset --yes --node {node}", yes),
            next_commands=afterwards(f"talops reset --node {node}", "talops up"),
            output=output,
            dry_run=dry_run,
        )
    )


def _node(cluster: Cluster, name: str) -> Node:
    found = next((node for node in cluster.nodes if node.name == name), None)
    if found is None:
        raise TalopsError(
            f"this inventory does not have a node {name}",
            where="nodes.yaml",
            hint=f"existing nodes: {', '.join(cluster.node_names)}",
        )
    return found

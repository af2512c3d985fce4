"""talops analyze: the effects of failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from talops.app.analysis import Analysis, Loss


def register(root: typer.Typer) -> None:
    root.command("analyze")(analyze)


def analyze(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Show what you lose if a host or node fails."""
    from talops.app import analysis
    from talops.cli.opening import inventory_of

    assert directory is not None
    cluster = inventory_of(directory)
    found = analysis.analyze(cluster)
    if output is Format.JSON:
        print_json({"version": 1, "cluster": cluster.name, **found.as_dict()})
        return
    console().print(_table(found))
    typer.echo(
        f"\n{found.spare} of {found.losses[0].etcd_all} control planes can fail at the same time."
    )
    for weakness in found.weaknesses:
        typer.echo(f"! {weakness.what}\n  next: {weakness.hint}")


def _table(found: Analysis) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("failing", "also lost", "etcd left", "API", "GPUs lost", "cores lost"):
        table.add_column(title)
    for loss in found.losses:
        table.add_row(*_cells(loss))
    return table


def _cells(loss: Loss) -> list[str]:
    nodes = ", ".join(loss.nodes) if loss.kind == "host" else loss.name
    etcd = f"{loss.etcd_left}/{loss.etcd_all}" + ("" if loss.quorum else " no quorum")
    gpus = f"{loss.gpus_lost}/{loss.gpus_all}" if loss.gpus_all else "-"
    cores = f"{loss.cores_lost}/{loss.cores_all}" if loss.cores_all else "-"
    api = "stays" if loss.survives else "down"
    return [f"{loss.kind} {loss.name}", nodes, etcd, api, gpus, cores]

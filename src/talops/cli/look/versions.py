"""talops versions: what runs, what is wanted, and what could run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, note, print_error, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from talops.app.upgrades.versions import PartVersions, Versions


def register(root: typer.Typer) -> None:
    root.command("versions")(versions)


def versions(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Show running, wanted and newest versions of Talos and Kubernetes."""
    from talops.app.upgrades import versions as app
    from talops.app.verifying import require_cluster
    from talops.cli.opening import site_of

    assert directory is not None
    site = site_of(directory)
    require_cluster(site)
    found = asyncio.run(app.look(site))
    if output is Format.JSON:
        print_json({"version": 1, "cluster": site.cluster.name, **found.as_dict()})
    else:
        show(found)
    if found.unread:
        raise typer.Exit(1)


def show(found: Versions) -> None:
    console().print(_table([found.talos, found.kubernetes]))
    if len({node.talos for node in found.nodes}) > 1:
        for node in found.nodes:
            typer.echo(f"  {node.name}: Talos {node.talos}")
    for hop in found.path.hops:
        typer.echo(f"→ {hop}")
    for refusal in found.path.refusals:
        typer.echo(f"! {refusal.what}\n  next: {refusal.hint}")
    for pair in found.path.untested:
        typer.echo(f"! {pair} is not in the support matrix of Talos")
    for error in found.unread:
        print_error(error)
    if found.unlisted:
        note(f"newest is what this talops knows: {found.unlisted.what}")
    if found.path.hops:
        note("next: talops up")


def _table(parts: list[PartVersions]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("", "running", "wanted", "newest", "supported until"):
        table.add_column(title)
    for part in parts:
        span = part.running
        running = "unknown" if span is None else span.low
        if span and span.high != span.low:
            running = f"{span.low} to {span.high}"
        table.add_row(str(part.part), running, part.wanted, part.newest, part.ends or "ended")
    return table

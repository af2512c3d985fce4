"""`talops export`: the cluster as plain files that another tool accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import note

app = typer.Typer(no_args_is_help=True, help="Export the cluster to the files of another tool.")

Target = Annotated[
    Path, typer.Argument(metavar="DIR", help="New directory for the files, with all secrets.")
]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="export")


@app.command()
def talosctl(target: Target, directory: Directory = None) -> None:
    """Export one machine config per node, and secrets.yaml."""
    _export("talosctl", target, directory)


@app.command()
def talhelper(target: Target, directory: Directory = None) -> None:
    """Export talconfig.yaml, talsecret.yaml and patches."""
    _export("talhelper", target, directory)


@app.command()
def topf(target: Target, directory: Directory = None) -> None:
    """Export topf.yaml, secrets.yaml and patches."""
    _export("topf", target, directory)


def _export(tool: str, target: Path, directory: Path | None) -> None:
    from talops.app.importing.export import export_cluster
    from talops.cli.opening import inventory_of, with_keys

    assert directory is not None
    root = directory.resolve()
    cluster = inventory_of(root)
    done = with_keys(root, lambda keys: export_cluster(tool, cluster, root, keys, target))
    for name in done.written:
        typer.echo(f"wrote {target / name}")
    for difference in done.differences:
        typer.echo(f"  {difference}")
    typer.echo(done.summary)
    note("these files contain the secrets of the cluster, unencrypted")
    if done.differences:
        raise typer.Exit(2)

"""`talops talos`: Talos secrets, machine configs and nodes."""

from __future__ import annotations

from importlib import import_module

import typer

# Modules with `add_to(app)`.
PARTS = (
    "talops.cli.talos.secrets",
    "talops.cli.talos.config",
    "talops.cli.talos.schematic",
    "talops.cli.talos.api",
)


def register(root: typer.Typer) -> None:
    app = typer.Typer(no_args_is_help=True, help="Manage Talos secrets, machine configs and nodes.")
    for part in PARTS:
        import_module(part).add_to(app)
    root.add_typer(app, name="talos")

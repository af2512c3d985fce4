"""talops adopt: take a running cluster into the states of OpenTofu."""

from __future__ import annotations

from typing import Annotated

import typer

from talops.cli.options import Directory, Format, Output, Yes


def register(root: typer.Typer) -> None:
    root.command("adopt")(adopt)


def adopt(
    directory: Directory = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Take the VMs of a running cluster into the states, without a restart."""
    from talops.app import runs
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit

    assert directory is not None
    site = site_of(directory)
    run_and_exit(site, runs.adopt(site, runs.Manner(dry_run, yes)), output)

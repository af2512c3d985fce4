"""`talops import`: the files of another tool become an inventory that changes nothing."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.app.importing.command import Imported

app = typer.Typer(no_args_is_help=True, help="Import a cluster that another tool made.")

Source = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="Directory, or file, of the other tool.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[NODE.]KEY=VALUE",
        help="Set a key that the source does not contain; repeatable.",
    ),
]
Address = Annotated[
    list[str] | None,
    typer.Option(
        "--address",
        metavar="NAME=ADDRESS",
        help="Address of a node, if its config does not contain it; repeatable.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Compare only; do not write any file.")]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="import")


@app.command()
def talhelper(
    source: Source,
    directory: Directory = None,
    values: Set = None,
    dry_run: DryRun = False,
    output: Output = Format.TEXT,
) -> None:
    """Import talconfig.yaml with its secrets, variables and patches."""
    _import("talhelper", source, directory, values, None, output, dry_run=dry_run)


@app.command()
def topf(
    source: Source,
    directory: Directory = None,
    values: Set = None,
    address: Address = None,
    dry_run: DryRun = False,
    output: Output = Format.TEXT,
) -> None:
    """Import topf.yaml with its secrets and patches."""
    _import("topf", source, directory, values, address, output, dry_run=dry_run)


@app.command("cluster-template")
def cluster_template(
    source: Source,
    directory: Directory = None,
    values: Set = None,
    address: Address = None,
    dry_run: DryRun = False,
    output: Output = Format.TEXT,
) -> None:
    """Import a repository of cluster-template, or of a descendant of it."""
    _import("cluster-template", source, directory, values, address, output, dry_run=dry_run)


@app.command()
def talosctl(
    source: Source,
    directory: Directory = None,
    values: Set = None,
    address: Address = None,
    dry_run: DryRun = False,
    output: Output = Format.TEXT,
) -> None:
    """Import machine configs: controlplane.yaml, worker.yaml, or one file per node."""
    _import("talosctl", source, directory, values, address, output, dry_run=dry_run)


def _import(
    tool: str,
    source: Path,
    directory: Path | None,
    values: list[str] | None,
    addresses: list[str] | None,
    output: Format,
    *,
    dry_run: bool,
) -> None:
    from talops.app.importing.command import Asked, import_cluster
    from talops.cli.tools.progress import progress

    assert directory is not None
    given = {key: _typed(value) for key, value in _pairs(values, "--set").items()}
    asked = Asked(tool, source, directory, given, _pairs(addresses, "--address"))
    with progress() as emit:
        done = asyncio.run(import_cluster(asked, dict(os.environ), emit, dry_run=dry_run))
    show(done, output)


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given or []:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise TalopsError(f"{option} {text}: write it as NAME=VALUE")
        found[key] = value
    return found


def _typed(text: str) -> Any:
    """A value as YAML reads it: 20 is a number, [a, b] a list."""
    from talops.machineconfig.yamltext import load

    return load(text, where="--set") if text else ""


def show(done: Imported, output: Format) -> None:
    """Exit code 2 if anything differs, or could not be carried over."""
    proposal = done.proposal
    if output is Format.JSON:
        print_json(as_json(done))
    else:
        for name in done.written:
            typer.echo(f"wrote {name}")
        for text in proposal.notes:
            note(text)
        if proposal.left:
            typer.echo("not carried over:")
        for left in proposal.left:
            typer.echo(f"  {left}")
        for difference in proposal.differences:
            typer.echo(f"  {difference}")
        typer.echo(f"{done.summary}; nothing was applied")
        if done.written:
            note("next: talops check, then talops plan")
    if proposal.left or proposal.differences:
        raise typer.Exit(2)


def as_json(done: Imported) -> dict[str, Any]:
    proposal = done.proposal
    return {
        "version": 1,
        "written": list(done.written),
        "left": [
            {
                "key": left.key,
                "file": left.where.file,
                "line": left.where.line,
                "reason": left.why,
            }
            for left in proposal.left
        ],
        "notes": list(proposal.notes),
        "differences": [
            {"node": each.node, "path": each.path, "effect": each.effect.name.lower()}
            for each in proposal.differences
        ],
    }

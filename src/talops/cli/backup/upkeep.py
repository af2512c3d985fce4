"""`talops backup prune` and `schedule`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output, Yes
from talops.cli.output import note, print_json

if TYPE_CHECKING:
    from talops.backups.retention import Selection


def prune(
    directory: Directory = None,
    unusable: Annotated[
        bool, typer.Option("--unusable", help="Also remove backups that cannot be used.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed; exit 2 if anything.")
    ] = False,
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Remove backups that no rule of `keep` selects; the last good one always stays."""
    from talops.app.backups import pruning
    from talops.cli.opening import site_of
    from talops.plural import count

    assert directory is not None
    site = site_of(directory)
    chosen = asyncio.run(pruning.selection(site))
    goes = [*chosen.removed, *([each.id for each in chosen.unusable] if unusable else [])]
    _show(chosen, goes, output)
    if not goes or dry_run:
        raise typer.Exit(2 if goes else 0)
    if not yes:
        _confirm(count(len(goes), "backup"))
    removed = asyncio.run(pruning.prune(site, chosen, unusable=unusable))
    note(f"removed {count(removed, 'backup')}")


def _show(chosen: Selection, goes: list[str], output: Format) -> None:
    if output is Format.JSON:
        unusable = [{"id": each.id, "problem": each.problem} for each in chosen.unusable]
        kept = {id_: list(reasons) for id_, reasons in chosen.kept.items()}
        print_json({"kept": kept, "removed": goes, "unusable": unusable})
        return
    for id_, reasons in sorted(chosen.kept.items(), reverse=True):
        typer.echo(f"keep    {id_}  {', '.join(reasons)}")
    for backup in chosen.unusable:
        typer.echo(f"unusable  {backup.id}  {backup.problem}")
    for id_ in goes:
        typer.echo(f"remove  {id_}")


def _confirm(what: str) -> None:
    from talops.errors import TalopsError

    if not sys.stdin.isatty():
        raise TalopsError("confirmation required, but stdin is not a terminal", hint="use --yes")
    if not typer.confirm(f"Remove {what}?", err=True):
        raise typer.Exit(1)


def adopt(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Prove and sign the snapshots that a CronJob in the cluster has uploaded."""
    from talops.app.backups import keeping
    from talops.cli.opening import site_of

    assert directory is not None
    made = asyncio.run(keeping.adopt(site_of(directory), note))
    if output is Format.JSON:
        print_json([manifest.as_dict() for manifest in made])
        return
    for manifest in made:
        note(f"{manifest.snapshot.keys} objects of {manifest.created:%Y-%m-%d %H:%M} UTC")
        typer.echo(manifest.id)
    if not made:
        note("the store has no snapshots of a CronJob")


def schedule(
    way: Annotated[
        str,
        typer.Argument(help="systemd, cron, ci or cronjob.", metavar="systemd|cron|ci|cronjob"),
    ],
    directory: Directory = None,
    at: Annotated[str, typer.Option("--at", help="Time of day, like 03:17.")] = "03:17",
) -> None:
    """Print a systemd timer, a cron line, a CI job or a CronJob for backups."""
    from talops.app.backups import pruning
    from talops.cli.opening import closed_site

    assert directory is not None
    typer.echo(pruning.schedule(closed_site(directory), way, at, sys.argv[0]), nl=False)

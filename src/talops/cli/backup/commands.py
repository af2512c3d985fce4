"""`talops backup`: take, list and prove backups of etcd."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.backup import drill, upkeep
from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, note, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from talops.app.backups.keeping import Proof
    from talops.backups.manifest import Backup
    from talops.site.site import ClosedSite

app = typer.Typer(no_args_is_help=True, help="Back up etcd, and prove that it can be restored.")
Id = Annotated[str, typer.Argument(help="Backup id, or 'latest'.", metavar="ID")]


def register(root: typer.Typer) -> None:
    app.command()(drill.drill)
    app.command()(upkeep.prune)
    app.command()(upkeep.schedule)
    app.command()(upkeep.adopt)
    root.add_typer(app, name="backup")


@app.command()
def create(
    directory: Directory = None,
    without_majority: Annotated[
        bool,
        typer.Option(
            "--without-majority",
            help="Back up the member that has applied most, after etcd has lost its majority.",
        ),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Take a snapshot of etcd: encrypted, read back, counted, with a manifest."""
    from talops.app.backups import keeping
    from talops.cli.opening import site_of
    from talops.views.backups import size_text

    assert directory is not None
    site = site_of(directory)
    made = asyncio.run(keeping.create(site, note, without_majority=without_majority))
    if output is Format.JSON:
        print_json(made.as_dict())
        return
    size = size_text(made.sealed.size)
    note(f"{made.snapshot.keys} objects, {size}, from {made.source} in {made.seconds:.1f} s")
    if made.snapshot.copied:
        note("copied from the disk of this member: etcd cannot check its digest, talops read it")
    typer.echo(made.id)


@app.command("list")
def list_(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List backups, newest first; nothing is decrypted."""
    from talops.app.backups import keeping
    from talops.views.backups import backups_table

    rows = [_row(backup) for backup in asyncio.run(keeping.listed(_site(directory)))]
    if output is Format.JSON:
        print_json([{**row, "created": _text(row["created"])} for row in rows])
    elif rows:
        console().print(backups_table(rows, datetime.now(UTC)))
    else:
        note("there are no backups; next: talops backup create")


@app.command()
def show(backup: Id = "latest", directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Show what one backup contains; nothing is decrypted."""
    from talops.app.backups import keeping
    from talops.views.backups import manifest_lines

    found = asyncio.run(keeping.found(_site(directory), backup))
    if found.manifest is None:
        note(f"{found.id}: {found.problem}")
        raise typer.Exit(1)
    manifest = found.manifest.as_dict()
    if output is Format.JSON:
        print_json({**manifest, "problem": found.problem})
    else:
        for line in manifest_lines(manifest, datetime.now(UTC), found.manifest.created):
            typer.echo(line)
    if found.problem:
        note(f"{found.id}: {found.problem}")
        raise typer.Exit(1)


@app.command()
def verify(
    backups: Annotated[
        list[str] | None,
        typer.Argument(help="Backup ids, or 'latest'; default: all.", metavar="[ID]..."),
    ] = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Decrypt backups in memory and compare every object; exit 1 if one is damaged."""
    from talops.app.backups import keeping
    from talops.cli.opening import site_of

    assert directory is not None
    report = (lambda _: None) if output is Format.JSON else _print_proof
    done = asyncio.run(keeping.proofs(site_of(directory), backups or (), report))
    if output is Format.JSON:
        print_json([{"id": p.id, "error": p.error.as_dict() if p.error else None} for p in done])
    if any(proof.error for proof in done):
        raise typer.Exit(1)


def _print_proof(proof: Proof) -> None:
    if proof.error is None:
        typer.echo(f"{proof.id}  whole: every object is as its manifest says")
        return
    typer.echo(f"{proof.id}  unusable: {proof.error.what}")


def _site(directory: Path | None) -> ClosedSite:
    from talops.cli.opening import closed_site, with_credentials

    assert directory is not None
    return with_credentials(closed_site(directory))


def _row(backup: Backup) -> dict[str, Any]:
    manifest = backup.manifest
    return {
        "id": backup.id,
        "created": manifest.created if manifest else None,
        "size": manifest.sealed.size if manifest else None,
        "objects": manifest.snapshot.keys if manifest else None,
        "talos": manifest.versions.talos if manifest else None,
        "kubernetes": manifest.versions.kubernetes if manifest else None,
        "problem": backup.problem,
    }


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None

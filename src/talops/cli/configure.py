"""talops configure: inventory → OpenTofu files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops import __version__
from talops.cli.inventory_errors import load_or_report
from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.generated import Change

SOURCES = "cluster.yaml and nodes.yaml"
TERRITORY = ("infrastructure", "Taskfile.yaml", "justfile")


def register(root: typer.Typer) -> None:
    root.command("configure")(configure)


def configure(
    directory: Directory = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 2 if something would change.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite generated files that were edited by hand.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Render every OpenTofu file from the inventory."""
    from talops import generated

    assert directory is not None
    generated.recover(directory)
    planned = generated.changes(directory, _wanted(directory), TERRITORY)
    _refuse_edited(planned, force=force)
    _refuse_orphans(directory, planned)
    if not check:
        generated.apply(directory, planned)
    _report(planned, output, check=check)
    if check and planned:
        raise typer.Exit(2)


def _wanted(directory: Path) -> dict[str, str]:
    from talops.generated import stamped
    from talops.inventory.encryption import passphrase_at_hand
    from talops.render.tree import render

    cluster = load_or_report(directory)
    if cluster.proxmox is None:
        note("bare metal: nothing is rendered for OpenTofu")
    files = render(cluster, encrypted=passphrase_at_hand(cluster, directory))
    return {
        path: stamped(body, version=__version__, sources=SOURCES) for path, body in files.items()
    }


def _refuse_edited(planned: list[Change], *, force: bool) -> None:
    edited = [change for change in planned if change.edited]
    if not edited or force:
        return
    for change in edited:
        note(change.diff())
    raise TalopsError(
        f"{len(edited)} generated file(s) were edited by hand; nothing was changed",
        where=", ".join(change.path for change in edited),
        hint="move the change into cluster.yaml or nodes.yaml, "
        "or lose it: talops configure --force",
    )


def _refuse_orphans(directory: Path, planned: list[Change]) -> None:
    """A layer whose files go away while its local state still lists resources would be orphaned."""
    from talops.generated import Action
    from talops.tofu.localstate import resource_count

    for change in planned:
        folder = directory / Path(change.path).parent
        state = folder / "terraform.tfstate"
        if change.action is Action.REMOVE and (count := resource_count(state)):
            raise TalopsError(
                f"the inventory no longer has this layer, but its state lists {count} resources",
                where=str(folder.relative_to(directory)),
                hint="put the entry back, run: talops infra destroy --layer "
                f"{folder.relative_to(directory / 'infrastructure')}, then remove it",
            )


def _report(planned: list[Change], output: Format, *, check: bool) -> None:
    if output is Format.JSON:
        print_json(
            {
                "version": 1,
                "changed": not check and bool(planned),
                "files": [{"path": c.path, "action": c.action.value} for c in planned],
            }
        )
        return
    marks = {"create": "+", "update": "~", "remove": "-"}
    for change in planned:
        typer.echo(f"{marks[change.action.value]} {change.path}")
    if not planned:
        typer.echo("up to date")
        return
    verb = "would change" if check else "written"
    typer.echo(f"{len(planned)} files {verb}")

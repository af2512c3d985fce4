"""talops retemplate: clone all nodes again from the template of the inventory, one by one."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.host.commands import User
from talops.cli.options import Directory, DrainTimeout, Format, Now, Output, Yes
from talops.cli.output import note, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from talops.app.upgrades.retemplating import Outlook
    from talops.site.site import Site

Nodes = Annotated[
    str,
    typer.Option("--nodes", metavar="REGEX", help="Only nodes whose names match this expression."),
]
KeepOld = Annotated[
    bool, typer.Option("--keep-old", help="Keep the old template, which nothing uses any more.")
]


def register(root: typer.Typer) -> None:
    root.command("retemplate")(retemplate)


def retemplate(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    nodes: Nodes = "",
    keep_old: KeepOld = False,
    drain_timeout: DrainTimeout = None,
    now: Now = False,
    user: User = None,
    output: Output = Format.TEXT,
) -> None:
    """Build the template of the inventory and replace nodes that use another."""
    from talops.app.rolling import roll_options
    from talops.app.upgrades import retemplating
    from talops.cli.host.access import access_to
    from talops.cli.opening import site_of
    from talops.cli.up import regex_of

    assert directory is not None
    chosen = regex_of(nodes)
    site = site_of(directory, chosen)
    access = access_to(site, user)
    options = roll_options(site.cluster, "", drain_timeout, (), now=now)
    outlook = asyncio.run(retemplating.look(site, access, options))
    _show(outlook, output, keep_old=keep_old)
    if dry_run:
        raise typer.Exit(2 if outlook.pending else 0)
    if outlook.pending and not yes:
        _confirm(site)
    if outlook.moves:
        asyncio.run(retemplating.prepare(site, access, outlook, note))
    for move in outlook.moves:
        if code := _replace(directory, move.node, drain_timeout, output, now=now):
            note(f"{move.node} is not replaced yet; to continue: talops retemplate")
            raise typer.Exit(code)
    if not keep_old:
        asyncio.run(retemplating.clean(site, access, note))


def _replace(
    directory: Path, name: str, drain_timeout: float | None, output: Format, *, now: bool
) -> int:
    """One run, with its own plan, record and locks."""
    from talops.app import runs
    from talops.app.rolling import roll_options
    from talops.cli.opening import site_of
    from talops.cli.running import in_terminal

    site = site_of(directory)
    options = roll_options(site.cluster, "", drain_timeout, (), now=now)
    run = runs.replace(site, name, runs.Manner(yes=True), rolls=options)
    result = asyncio.run(in_terminal(site, run, output))
    if result.exit_code == 0:
        asyncio.run(runs.replaced(site, name))
    return result.exit_code


def _show(outlook: Outlook, output: Format, *, keep_old: bool) -> None:
    if output is Format.JSON:
        print_json(outlook.as_dict())
        return
    recipe = outlook.recipe
    if outlook.builds and outlook.moves:
        typer.echo(f"+ create template {recipe.name} ({recipe.vm_id}) on {recipe.host}")
    for move in outlook.moves:
        typer.echo(f"± replace {move}")
    for template in () if keep_old else outlook.old:
        typer.echo(f"- destroy template {template.name} ({template.vm_id}) on {template.host}")
    if not outlook.pending:
        note(f"all nodes are cloned from {recipe.name} ({recipe.vm_id})")


def _confirm(site: Site) -> None:
    from talops.cli.terminal import typed
    from talops.errors import TalopsError

    if not sys.stdin.isatty():
        raise TalopsError(
            "confirmation required, but stdin is not a terminal; use --yes",
            hint="talops retemplate --yes",
        )
    name = site.cluster.name
    typer.echo("These nodes leave the cluster one by one, and join it again.", err=True)
    if asyncio.run(typed(f"Type {name} to confirm: ")) != name:
        raise typer.Exit(1)

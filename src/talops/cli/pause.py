"""talops pause: hold back disruptive changes of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.site.site import ClosedSite

HELD_BACK = (
    "Held back: restarts, reboots, drains, replacements, removals and upgrades by talops up and "
    "talops infra apply; a roll that runs stops before its next node."
)
NOT_HELD_BACK = (
    "Not held back: the node that is being changed now, changes that disrupt nothing, the "
    "commands down, reset, recover, infra destroy and talos, and other tools."
)


def register(root: typer.Typer) -> None:
    root.command("pause")(pause)


def pause(
    directory: Directory = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; shown by refused runs.")] = "",
) -> None:
    """Hold back disruptive changes of this cluster until talops resume."""
    from talops.app import pauses

    asked = asyncio.run(pauses.pause(site_with_states(directory), reason))
    typer.echo(f"{asked.pause} ({asked.where})")
    note(HELD_BACK)
    note(NOT_HELD_BACK)


def site_with_states(directory: Directory) -> ClosedSite:
    """What is needed to read a record beside the states."""
    from talops.cli.opening import closed_site, with_credentials

    assert directory is not None
    site = closed_site(directory)
    return site if site.cluster.state.kind == "local" else with_credentials(site)

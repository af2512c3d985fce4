"""talops down: destroy the cluster, after its name was confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import AllowDestroy, Directory, Format, Output
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.site.site import Site


Name = Annotated[
    str | None, typer.Option("--cluster", help="Name of the cluster to destroy, to confirm.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask for confirmation; requires --cluster.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Destroy the VMs of dead nodes without resetting them.")
]
AllLayers = Annotated[
    bool, typer.Option("--all-layers", help="Also destroy hypervisor settings and legacy VMs.")
]
KeepState = Annotated[bool, typer.Option("--keep-state", help="Keep the empty local state files.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be destroyed; exit 2 if anything.")
]


def register(root: typer.Typer) -> None:
    root.command("down")(down)


def down(
    directory: Directory = None,
    yes: Yes = False,
    cluster: Name = None,
    force: Force = False,
    all_layers: AllLayers = False,
    keep_state: KeepState = False,
    allow_destroy: AllowDestroy = None,
    dry_run: DryRun = False,
    output: Output = Format.TEXT,
) -> None:
    """Destroy the cluster: reset the nodes, destroy their VMs, keep the secrets."""
    from talops.app import runs
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit

    assert directory is not None
    site = site_of(directory)
    _require_name(site, cluster, needed=yes and not dry_run)
    run = runs.down(
        site,
        runs.Manner(dry_run, yes),
        force=force,
        every_layer=all_layers,
        keep_state=keep_state,
        allow_destroy=frozenset(allow_destroy or ()),
    )
    run_and_exit(site, run, output)


def _require_name(site: Site, given: str | None, *, needed: bool) -> None:
    """Without a question, the command line names what it destroys."""
    name = site.cluster.name
    if given is not None and given != name:
        raise TalopsError(f"this inventory is cluster {name}, not {given}", where=str(site.root))
    if needed and given is None:
        raise TalopsError(
            "--yes requires the name of the cluster", hint=f"talops down --yes --cluster {name}"
        )

"""talops upgrade: write the wanted versions into cluster.yaml, then run `up`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import (
    AllowUnhealthyEtcd,
    Directory,
    DrainTimeout,
    Format,
    MaxUnavailable,
    Now,
    Output,
    Timeout,
    Yes,
)
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.app.upgrades.versions import Versions
    from talops.site.site import Site

To = Annotated[
    list[str],
    typer.Option(
        "--to",
        metavar="PART=VERSION",
        help="Target, such as talos=v1.14.1; several with commas, or repeat it.",
    ),
]


def register(root: typer.Typer) -> None:
    root.command("upgrade")(upgrade)


def upgrade(
    to: To,
    directory: Directory = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the path and change nothing; exit 2 if any.")
    ] = False,
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="First make this upgrade in a lab with the same nodes."),
    ] = False,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    max_unavailable: MaxUnavailable = "",
    drain_timeout: DrainTimeout = None,
    timeout: Timeout = None,
    now: Now = False,
    output: Output = Format.TEXT,
) -> None:
    """Set the versions in cluster.yaml and upgrade the cluster to them."""
    from talops.app import runs
    from talops.app.rolling import roll_options
    from talops.app.timeouts import with_timeouts
    from talops.app.upgrades import target
    from talops.app.verifying import require_cluster
    from talops.cli.opening import site_of
    from talops.cli.options import allowing
    from talops.cli.running import run_and_exit

    assert directory is not None
    wanted = target.targets(to)
    site = site_of(directory)
    require_cluster(site)
    found = asyncio.run(target.reachable(site, wanted))
    for hop in found.path.hops:
        note(f"→ {hop}")
    for pair in found.path.untested:
        note(f"! {pair} is not in the support matrix of Talos")
    if rehearse and found.path.hops:
        _rehearse(site, found, to)
    elif rehearse:
        note("there is nothing to rehearse: these versions run")
    if dry_run:
        raise typer.Exit(2 if found.path.hops else 0)
    target.write(site.root, wanted)
    note("cluster.yaml has the new versions; to continue after an interruption: talops up")
    site = with_timeouts(site_of(directory), timeout or ())
    run = runs.up(
        site,
        runs.Manner(yes=yes),
        policy=allowing(None, None, None, allow_unhealthy_etcd),
        rolls=roll_options(
            site.cluster, max_unavailable, drain_timeout, allow_unhealthy_etcd or (), now=now
        ),
    )
    run_and_exit(site, run, output)


def _rehearse(site: Site, found: Versions, to: list[str]) -> None:
    """From the oldest versions that run; the contract is that of the cluster's own secrets."""
    from talops.app.upgrades.target import settings_of
    from talops.cli.lab.rehearsal import rehearse

    async def act() -> None:
        bundle = await site.secrets.require()
        contract = f"v{bundle.contract}" if bundle.contract else ""
        await rehearse(site, settings_of(found), contract, ["--to", ",".join(to)])

    asyncio.run(act())

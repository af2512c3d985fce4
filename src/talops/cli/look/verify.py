"""talops verify: check the running cluster against the inventory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.look.check_output import CheckFormat, CheckOutput, seconds, show
from talops.cli.options import Directory
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.pipeline.checks import CheckResult
    from talops.site.site import Site


def register(root: typer.Typer) -> None:
    root.command("verify")(verify)


def verify(
    directory: Directory = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Also run a test workload and remove it.")
    ] = False,
    move_vip: Annotated[
        bool,
        typer.Option("--move-vip", help="Also reboot the node with the VIP; the VIP must move."),
    ] = False,
    wait: Annotated[
        str, typer.Option("--wait", help="Retry failed checks for this long, like 10m.")
    ] = "0s",
    count: Annotated[
        int,
        typer.Option("--count", help="Number of times in a row that all checks must pass.", min=1),
    ] = 1,
    interval: Annotated[
        str, typer.Option("--interval", help="Time between two rounds of checks.")
    ] = "5s",
    watch: Annotated[
        bool, typer.Option("--watch", help="Repeat until interrupted and print changes.")
    ] = False,
    output: CheckOutput = CheckFormat.TEXT,
) -> None:
    """Check the running cluster against the inventory; read-only by default."""
    from talops.app import verifying
    from talops.cli.opening import site_of
    from talops.pipeline.checks import failures

    assert directory is not None
    site = site_of(directory)
    verifying.require_cluster(site)
    rounds = verifying.Rounds(seconds(wait), count, max(seconds(interval), 0.1))
    if watch:
        asyncio.run(_watch(site, output, rounds.pause))
    checking = verifying.verified(site, rounds, _progress, smoke=smoke, move_vip=move_vip)
    results = asyncio.run(checking)
    show(results, output, suite=f"talops verify {site.cluster.name}")
    if failures(results):
        raise typer.Exit(1)


def _progress(results: Sequence[CheckResult], passes: int) -> None:
    """Only on a terminal: a single round does not need progress."""
    from talops.pipeline.checks import failures

    wrong = failures(results)
    if sys.stderr.isatty():
        note(f"{passes} in a row" if not wrong else f"not yet: {wrong[0]}")


async def _watch(site: Site, output: CheckFormat, pause: float) -> None:
    from talops.app import verifying

    before: list[tuple[str, str]] | None = None
    while True:
        results = await verifying.look(site)
        now = [(f"{r.name} {f}", f.verdict.value) for r in results for f in r.findings]
        if now != before:
            note(f"{datetime.now(UTC):%H:%M:%S}")
            show(results, output, suite="talops verify")
            sys.stdout.flush()
        before = now
        await asyncio.sleep(pause)

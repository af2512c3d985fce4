"""talops verify: check the running cluster against the inventory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.look.check_output import CheckFormat, CheckOutput, seconds, show
from talops.cli.options import Directory
from talops.cli.output import note
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.pipeline.checks import CheckResult
    from talops.site.site import Site

    Look = Callable[[], Coroutine[object, object, Sequence[CheckResult]]]


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
    from talops.cli.site import site_of
    from talops.pipeline.checks import failures, settled

    assert directory is not None
    site = site_of(directory)
    _require_cluster(site)
    look, act = _looks(site, smoke=smoke, move_vip=move_vip)
    pause = max(seconds(interval), 0.1)
    if watch:
        asyncio.run(_watch(look, output, pause))
    results = asyncio.run(
        settled(look, wait=seconds(wait), count=count, interval=pause, report=_progress)
    )
    if not failures(results):
        results = [*results, *asyncio.run(act())]
    show(results, output, suite=f"talops verify {site.cluster.name}")
    if failures(results):
        raise typer.Exit(1)


def _require_cluster(site: Site) -> None:
    """One error instead of many findings with the same cause."""
    from talops.site.secrets_file import find_secrets

    if find_secrets(site.root) is None:
        raise TalopsError(
            f"cluster {site.cluster.name} has not been created yet: it does not have secrets",
            where=str(site.root),
            hint="talops up",
        )


def _looks(site: Site, *, smoke: bool, move_vip: bool) -> tuple[Look, Look]:
    """The read-only checks, and the active ones that flags add."""
    from talops.checks.after.reach import Reach
    from talops.pipeline.checks import masked, run_checks
    from talops.redaction import Redactor
    from talops.site.secrets_file import SecretsFile
    from talops.stages.verify import active_checks, verify_checks

    redact = Redactor(site.credentials.values())
    secrets = SecretsFile(site, redact.learn)

    async def look() -> Sequence[CheckResult]:
        reach = Reach(site, secrets)
        async with reach.one_look():
            return masked(await run_checks(verify_checks(reach)), redact)

    async def act() -> Sequence[CheckResult]:
        """In sequence: the workload check fails while a node reboots."""
        checks = active_checks(Reach(site, secrets), run_smoke=smoke, move_vip=move_vip)
        done = [result for check in checks for result in await run_checks([check])]
        return masked(done, redact)

    return look, act


def _progress(results: Sequence[CheckResult], passes: int) -> None:
    """Only on a terminal: a single round does not need progress."""
    from talops.pipeline.checks import failures

    wrong = failures(results)
    if sys.stderr.isatty():
        note(f"{passes} in a row" if not wrong else f"not yet: {wrong[0]}")


async def _watch(look: Look, output: CheckFormat, pause: float) -> None:
    before: list[tuple[str, str]] | None = None
    while True:
        results = await look()
        now = [(f"{r.name} {f}", f.verdict.value) for r in results for f in r.findings]
        if now != before:
            note(f"{datetime.now(UTC):%H:%M:%S}")
            show(results, output, suite="talops verify")
            sys.stdout.flush()
        before = now
        await asyncio.sleep(pause)

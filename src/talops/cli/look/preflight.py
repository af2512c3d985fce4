"""talops preflight: check the requirements of a run before it starts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from talops.cli.look.check_output import CheckFormat, CheckOutput, show
from talops.cli.options import Directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import CheckResult
    from talops.site.site import ClosedSite


def register(root: typer.Typer) -> None:
    root.command("preflight")(preflight)


def preflight(directory: Directory = None, output: CheckOutput = CheckFormat.TEXT) -> None:
    """Check all requirements of `up`, with fixes; exit 4 if one fails."""
    from talops.cli.opening import closed_site
    from talops.pipeline.checks import failures

    assert directory is not None
    closed = closed_site(directory)
    results = asyncio.run(_checked(closed))
    show(results, output, suite=f"talops preflight {closed.cluster.name}")
    if failures(results):
        raise typer.Exit(4)


async def _checked(closed: ClosedSite) -> Sequence[CheckResult]:
    from talops.app.preflight import preflight
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return await preflight(closed, emit)

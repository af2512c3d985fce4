"""talops preflight: check the requirements of a run before it starts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from talops.cli.look.check_output import CheckFormat, CheckOutput, show
from talops.cli.options import Directory
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.checks.before.basis import Ground
    from talops.pipeline.checks import Check
    from talops.redaction import Redactor


def register(root: typer.Typer) -> None:
    root.command("preflight")(preflight)


def preflight(directory: Directory = None, output: CheckOutput = CheckFormat.TEXT) -> None:
    """Check all requirements of `up`, with fixes; exit 4 if one fails."""
    from talops.checks.before.basis import Ground
    from talops.cli.look.inventory_errors import load_or_report
    from talops.pipeline.checks import failures, masked, run_checks
    from talops.redaction import Redactor

    assert directory is not None
    root = directory.resolve()
    ground = Ground(load_or_report(root), root, environment=dict(os.environ))
    redact = Redactor()
    checks = _checks(ground, root, redact)
    results = masked(asyncio.run(run_checks(checks)), redact)
    show(results, output, suite=f"talops preflight {ground.cluster.name}")
    if failures(results):
        raise typer.Exit(4)


def _checks(ground: Ground, root: Path, redact: Redactor) -> list[Check]:
    """Without keys or programs, the other checks still run."""
    from talops.cli.look.outside_checks import ground_of, outside_checks, tool_checks
    from talops.cli.site import site_of
    from talops.pipeline.checks import Check, Finding, from_error
    from talops.stages.preflight import preflight_checks

    try:
        site = site_of(root)
    except TalopsError as error:
        reason = from_error(error)

        async def unopened() -> list[Finding]:
            return [reason]

        checks = preflight_checks(ground)
        return [*tool_checks(ground), Check("keys", unopened), *checks]
    redact.learn(*site.credentials.values())
    ground = ground_of(site, redact.learn)
    checks = preflight_checks(ground, thorough=True)
    return [*tool_checks(ground), *checks, *outside_checks(site, strict=True)]

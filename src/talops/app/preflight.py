"""Check the requirements of a run without a run, as far as keys and programs are available."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.opening import open_site
from talops.checks.before.suite import outside_checks, preflight_checks, tool_checks
from talops.errors import TalopsError
from talops.pipeline.checks import Check, Finding, from_error, masked, run_checks
from talops.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.events import Emit
    from talops.pipeline.checks import CheckResult
    from talops.site.site import ClosedSite


async def preflight(closed: ClosedSite, emit: Emit) -> Sequence[CheckResult]:
    """Without keys or programs, the other checks still run."""
    try:
        site = await open_site(closed, emit)
    except TalopsError as error:
        reason = from_error(error)

        async def unopened() -> list[Finding]:
            return [reason]

        checks = [*tool_checks(closed), Check("keys", unopened), *preflight_checks(closed)]
        return masked(await run_checks(checks), Redactor())
    checks = [
        *tool_checks(site),
        *preflight_checks(site, thorough=True),
        *outside_checks(site, strict=True),
    ]
    return masked(await run_checks(checks), site.redact)

"""Stage `preflight`: check all requirements of the run, and report all failures at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talops.checks.before.suite import outside_checks, preflight_checks
from talops.errors import PreflightError, TalopsError
from talops.pipeline.checks import CheckResult, Verdict, failures, run_checks
from talops.pipeline.stage import Change, Stage
from talops.plural import count

if TYPE_CHECKING:
    from talops.pipeline.checks import Check, Finding
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site


def refusal(wrong: Sequence[Finding]) -> PreflightError:
    """All failures in one error, with the location and hint of each."""
    lines = [f"{finding}" + (f" — {finding.hint}" if finding.hint else "") for finding in wrong]
    failed = f"{count(len(wrong), 'preflight check')} failed"
    return PreflightError(f"{failed}:\n  " + "\n  ".join(lines), hint="talops preflight")


class Preflight(Stage[Sequence[CheckResult], Change]):
    """Check and refuse; changes nothing."""

    name = "preflight"

    def __init__(self, checks: Sequence[Check], report: Reporter) -> None:
        self._checks = checks
        self._report = report

    @classmethod
    def of(cls, site: Site, report: Reporter) -> Preflight:
        """The checks of every run."""
        return cls([*preflight_checks(site), *outside_checks(site, strict=False)], report)

    async def observe(self) -> Sequence[CheckResult]:
        found = await run_checks(self._checks)
        if not failures(found):
            self._tell(found)
        return found

    def plan(self, facts: Sequence[CheckResult]) -> list[Change]:
        wrong = failures(facts)
        if wrong:
            raise refusal(wrong)
        return []

    async def apply(self, change: Change) -> None:
        raise TalopsError(f"bug: the stage preflight changes nothing, but got the change {change}")

    async def verify(self, _: Seen[Sequence[CheckResult], Change], /) -> None:
        """The state at the start of the run counts: later stages prove their own goals."""

    def _tell(self, found: Sequence[CheckResult]) -> None:
        for result in found:
            for finding in result.findings:
                self._report.log(f"{result.name}: {finding.verdict}: {finding}")
                if finding.verdict is Verdict.WARNING:
                    hint = finding.hint
                    self._report.note(f"{result.name}: {finding}", level="warning", hint=hint)

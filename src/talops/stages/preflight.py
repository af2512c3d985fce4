"""Stage `preflight`: check all requirements of the run, and report all failures at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from talops.checks.before import addresses, age_key, clock, git, images, ports, provider, truenas
from talops.checks.before.basis import Ground
from talops.errors import PreflightError, TalopsError
from talops.pipeline.checks import Check, CheckResult, Verdict, failures, run_checks
from talops.pipeline.stage import Change, Stage
from talops.plural import count

if TYPE_CHECKING:
    from talops.pipeline.checks import Finding
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


def preflight_checks(ground: Ground, *, thorough: bool = False) -> list[Check]:
    """The checks of every run; callers add those of states, Proxmox and programs.

    `thorough` is for `talops preflight`: it also decrypts every encrypted file and reads the Git
    repository, which in a run is checked by the stage `gitops`.
    """
    repository = [Check("git", lambda: git.look(ground))] if thorough else []
    storage = [Check("truenas", lambda: truenas.look(ground))] if ground.cluster.truenas else []
    provider_check = (
        [Check("provider", lambda: provider.look(ground.environment))]
        if ground.cluster.proxmox
        else []
    )
    return [
        Check("secrets", lambda: age_key.look(ground, thorough=thorough)),
        Check("images", lambda: images.look(ground)),
        *provider_check,
        Check("addresses", lambda: addresses.look(ground)),
        Check("clock", lambda: clock.look(ground)),
        Check("ports", lambda: ports.look(ground)),
        *repository,
        *storage,
    ]


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
    def of(
        cls, site: Site, secrets: SecretsFile, outside: Sequence[Check], report: Reporter
    ) -> Preflight:
        """The checks of every run, and those `outside` that only the caller can build."""
        ground = Ground(site.cluster, site.root, site, secrets, site.environment)
        return cls([*preflight_checks(ground), *outside], report)

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

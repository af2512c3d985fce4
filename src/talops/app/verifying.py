"""Verify a running cluster: the checks that only look, and those that act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.pipeline.checks import CheckResult
    from talops.site.site import Site


@dataclass(frozen=True)
class Rounds:
    """How long failed checks are repeated, and how often all must pass; times in seconds."""

    wait: float
    count: int
    pause: float


def require_cluster(site: Site) -> None:
    """One error instead of many findings with the same cause."""
    from talops.site.secrets_file import find_secrets

    if find_secrets(site.root) is None:
        raise TalopsError(
            f"cluster {site.cluster.name} has not been created yet: it does not have secrets",
            where=str(site.root),
            hint="talops up",
        )


async def look(site: Site) -> Sequence[CheckResult]:
    """Every read-only check once."""
    from talops.checks.after import backups
    from talops.pipeline.checks import Check, masked, run_checks
    from talops.site.connections import Connections
    from talops.stages.verify import verify_checks

    connections = Connections(site, site.secrets)
    async with connections.one_look():
        # Not part of `up`: a new cluster has no backup yet.
        checks = [*verify_checks(connections), Check("backups", lambda: backups.look(site))]
        return masked(await run_checks(checks), site.redact)


async def act(site: Site, *, smoke: bool, move_vip: bool) -> Sequence[CheckResult]:
    """In sequence: the workload check fails while a node reboots."""
    from talops.pipeline.checks import masked, run_checks
    from talops.site.connections import Connections
    from talops.stages.verify import active_checks

    checks = active_checks(Connections(site, site.secrets), run_smoke=smoke, move_vip=move_vip)
    done = [result for check in checks for result in await run_checks([check])]
    return masked(done, site.redact)


async def verified(
    site: Site,
    rounds: Rounds,
    report: Callable[[Sequence[CheckResult], int], None],
    *,
    smoke: bool,
    move_vip: bool,
) -> Sequence[CheckResult]:
    """The active checks follow only if the others pass; `report` receives each round."""
    from talops.pipeline.checks import failures, settled

    results = await settled(
        lambda: look(site),
        wait=rounds.wait,
        count=rounds.count,
        interval=rounds.pause,
        report=report,
    )
    if failures(results):
        return results
    return [*results, *await act(site, smoke=smoke, move_vip=move_vip)]

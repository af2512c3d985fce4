"""Verify a running cluster: the checks that only look, and those that act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import CheckResult
    from talops.site.site import Site


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
    from talops.checks.after.reach import Reach
    from talops.pipeline.checks import masked, run_checks
    from talops.stages.verify import verify_checks

    reach = Reach(site, site.secrets)
    async with reach.one_look():
        return masked(await run_checks(verify_checks(reach)), site.redact)


async def act(site: Site, *, smoke: bool, move_vip: bool) -> Sequence[CheckResult]:
    """In sequence: the workload check fails while a node reboots."""
    from talops.checks.after.reach import Reach
    from talops.pipeline.checks import masked, run_checks
    from talops.stages.verify import active_checks

    checks = active_checks(Reach(site, site.secrets), run_smoke=smoke, move_vip=move_vip)
    done = [result for check in checks for result in await run_checks([check])]
    return masked(done, site.redact)

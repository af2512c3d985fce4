"""Take an older key out of the cluster, when Flux has what opens without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.delivery import following
from talops.delivery.objects import bring
from talops.errors import ConflictError
from talops.gitops import flux

if TYPE_CHECKING:
    from talops.delivery.flux_keys import FluxKeys
    from talops.delivery.handover import CheckedBranch
    from talops.kube.client import KubeClient
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site


async def keep_only_goal(
    kube: KubeClient, keys: FluxKeys, checked: CheckedBranch, site: Site, report: Reporter
) -> None:
    """Flux applies the checked commit first, and once more with its only key."""
    if checked.waiting:
        raise ConflictError(
            "the branch changed: the key of the cluster does not open this file",
            where=checked.waiting[0],
            hint=keys.hint or "talops secrets rotate --recipients-only, then commit and push",
        )
    if await following.is_behind(kube, checked.commit):
        await following.request(kube, following.GIT)
    await following.follow(kube, checked.commit, site, report)
    await bring(kube, (flux.age_secret(keys.goal.identity),), site, report)
    await following.reconciles(kube, site, report)

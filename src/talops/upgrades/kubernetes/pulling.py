"""Images are on all nodes before the first component changes: a missing one then stops nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.machineconfig.kubernetes_images import STATIC_PODS, Component
from talops.plural import count
from talops.talos.calls.upgrade import Dialect, dialect_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet
    from talops.upgrades.kubernetes.running import NodeRunning
    from talops.upgrades.kubernetes.targets import Targets

AT_ONCE = 10


async def pull_everywhere(
    nodes: Sequence[NodeRunning], targets: Targets, fleet: Fleet, report: Reporter
) -> None:
    """The errors of all nodes in one; a node that has an image does not pull it again."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(seen: NodeRunning) -> TalopsError | None:
        async with gate:
            try:
                await _pull(seen, targets, fleet)
            except TalopsError as error:
                return error
            return None

    where = count(len(nodes), "node")
    report.log(f"pulling the images of Kubernetes {targets.version} on {where}")
    outcomes = await asyncio.gather(*(one(seen) for seen in nodes))
    failed = [(s.node.name, e) for s, e in zip(nodes, outcomes, strict=True) if e is not None]
    if failed:
        what = "; ".join(f"{name}: {error.what}" for name, error in failed)
        raise TalopsError(
            f"images of Kubernetes {targets.version} cannot be pulled, nothing was changed: {what}",
            where=", ".join(name for name, _ in failed),
            hint="make the images available to these nodes, then: talops up",
        )


async def _pull(seen: NodeRunning, targets: Targets, fleet: Fleet) -> None:
    """kube-proxy is not pulled: its pods restart one by one, as of any DaemonSet."""
    images = targets.images(seen.node)
    wanted = (*(STATIC_PODS if seen.node.controller else ()), Component.KUBELET)
    async with fleet.talos(seen.node) as talos:
        old = dialect_of((await talos.version()).release) is Dialect.LEGACY
        for component in wanted:
            # Talos itself runs the kubelet; pods belong to the container runtime of Kubernetes.
            cri = component is not Component.KUBELET
            if old:
                await talos.upgrade.pull_legacy(images[component], cri=cri)
            else:
                await talos.upgrade.pull(images[component], cri=cri)

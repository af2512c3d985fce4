"""`talops infra` takes nodes out of service before their VMs stop, as `up` does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.app.infra.layers import OpenLayers, Order
    from talops.events import Emit
    from talops.tofu.ordering import Batch


async def watched(run: OpenLayers, order: Order, emit: Emit, note: Callable[[str], None]) -> Order:
    """Without an inventory or a cluster, there is nothing to wait for and nothing to guard."""
    from talops.site.secrets_file import find_secrets

    cluster = run.cluster
    if cluster is None or find_secrets(run.root) is None:
        return order
    from talops.app.opening import closed_site, open_site
    from talops.pipeline.stage import Reporter
    from talops.rolls.options import RollOptions
    from talops.rolls.rolling import Rolling
    from talops.rolls.vms import VmRoll
    from talops.site.etcd_guard import guard_of
    from talops.site.health import wait_healthy

    opened = await open_site(closed_site(run.root, run.environment), emit)
    site = replace(opened, fence=run.fence)

    async def healthy(batch: Batch) -> None:
        nodes = [node for node in cluster.nodes if node.name in {*batch.names, *batch.nodes}]
        note(f"waiting for {', '.join(node.name for node in nodes)} …")
        await wait_healthy(
            await site.secrets.fleet(),
            nodes,
            cluster.control_planes,
            site.limits,
            lambda *_: None,
            whole=batch.whole,
        )

    allowed = order.policy.allow_unhealthy_etcd
    # A layer that is applied by hand is not bound to windows; a pause is obeyed.
    rolling = Rolling(site, RollOptions(now=True, allow_unhealthy_etcd=allowed))
    return replace(
        order,
        healthy=healthy,
        guard=guard_of(site, site.secrets, order.policy),
        roll=VmRoll(rolling, healthy, Reporter("infra", run.emit)),
    )

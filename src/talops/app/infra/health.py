"""`talops infra` takes nodes out of service before their VMs stop, as `up` does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.app.infra.layers import OpenLayers, Order
    from talops.events import Emit
    from talops.inventory.model import Cluster
    from talops.rolls.options import RollOptions
    from talops.tofu.apply_options import Permit
    from talops.tofu.ordering import Batch


async def watched(
    run: OpenLayers, order: Order, emit: Emit, note: Callable[[str], None], *, now: bool = False
) -> Order:
    """Without an inventory or a cluster, there is nothing to wait for and nothing to guard. `now`:
    also outside of maintenance windows.
    """
    from talops.rolls.options import RollOptions
    from talops.site.protection import Protected
    from talops.site.secrets_file import find_secrets
    from talops.site.site import ClosedSite

    cluster, allowed = run.cluster, order.policy.allow_unhealthy_etcd
    if cluster is None:
        return order
    options = RollOptions(now=now, allow_unhealthy_etcd=allowed)
    left = await Protected(ClosedSite(cluster, run.root, run.environment, run.credentials)).names()
    order = replace(order, policy=replace(order.policy, protected=left))
    if not order.destroy:  # as `down`, which is not held back
        order = replace(order, permit=_permit(run, cluster, options))
    if find_secrets(run.root) is None:
        return order
    from talops.app.opening import closed_site, open_site
    from talops.pipeline.stage import Reporter
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

    rolling = Rolling(site, replace(options, now=now or order.destroy))
    return replace(
        order,
        healthy=healthy,
        guard=guard_of(site, site.secrets, order.policy),
        roll=VmRoll(rolling, healthy, Reporter("infra", run.emit)),
    )


def _permit(run: OpenLayers, cluster: Cluster, options: RollOptions) -> Permit:
    from talops.rolls.permission import permit_items
    from talops.site.site import ClosedSite

    site = ClosedSite(cluster, run.root, run.environment, run.credentials)
    return partial(permit_items, site, options)

"""`talops infra` asks etcd before a control plane stops, and waits for it between two batches."""

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
    from talops.site.etcd_guard import guard_of
    from talops.site.health import wait_healthy

    site = await open_site(closed_site(run.root, run.environment), emit)

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

    return replace(order, healthy=healthy, guard=guard_of(site, site.secrets, order.policy))

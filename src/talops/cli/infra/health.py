"""`talops infra` asks etcd before a control plane stops, and waits for it between two batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.cli.output import note

if TYPE_CHECKING:
    from talops.cli.infra.context import Context, Order
    from talops.tofu.ordering import Batch


def watched(run: Context, order: Order) -> Order:
    """Without an inventory or a cluster, there is nothing to wait for and nothing to guard."""
    from talops.site.secrets_file import find_secrets

    cluster = run.cluster
    if cluster is None or find_secrets(run.root) is None:
        return order
    from talops.cli.site import site_of
    from talops.site.etcd_guard import guard_of
    from talops.site.health import wait_healthy
    from talops.site.secrets_file import SecretsFile

    site = site_of(run.root)
    secrets = SecretsFile(site, lambda *_: None)

    async def healthy(batch: Batch) -> None:
        nodes = [node for node in cluster.nodes if node.name in {*batch.names, *batch.nodes}]
        note(f"waiting for {', '.join(node.name for node in nodes)} …")
        await wait_healthy(
            await secrets.fleet(),
            nodes,
            cluster.control_planes,
            site.limits,
            lambda *_: None,
            whole=batch.whole,
        )

    return replace(order, healthy=healthy, guard=guard_of(site, secrets, order.policy))

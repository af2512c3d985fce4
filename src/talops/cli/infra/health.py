"""`talops infra` waits for a healthy cluster between two batches of restarts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.cli.output import note

if TYPE_CHECKING:
    from talops.cli.infra.context import Context
    from talops.site.fleet import Fleet
    from talops.tofu.apply import Healthy
    from talops.tofu.ordering import Batch


def health_of(run: Context) -> Healthy:
    """Without an inventory or a cluster, there is nothing to wait for."""
    from talops.machineconfig.places import find_secrets
    from talops.tofu.apply import no_wait

    cluster = run.cluster
    if cluster is None or find_secrets(run.root) is None:
        return no_wait
    from talops.site.health import wait_healthy
    from talops.site.site import Limits

    fleet = _fleet(run)

    async def healthy(batch: Batch) -> None:
        nodes = [node for node in cluster.nodes if node.name in batch.names]
        note(f"waiting for {', '.join(node.name for node in nodes)} …")
        await wait_healthy(fleet, nodes, cluster.control_planes, Limits(), lambda *_: None)

    return healthy


def _fleet(run: Context) -> Fleet:
    from talops.cli.site import site_of
    from talops.site.fleet import Fleet
    from talops.site.secrets_file import SecretsFile

    secrets = SecretsFile(site_of(run.root), lambda *_: None)
    return Fleet(asyncio.run(secrets.require()))

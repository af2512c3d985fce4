"""Between two batches of restarts: the nodes are back, and etcd has all its members."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.cli.output import note
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.cli.infra_context import Context
    from talops.inventory.model import Node
    from talops.stages.fleet import Fleet
    from talops.tofu.apply import Healthy
    from talops.tofu.ordering import Batch

BOOT_SECONDS = 600.0


def health_of(run: Context) -> Healthy:
    """Nothing to wait for where there is no inventory, or no cluster yet."""
    fleet = _fleet(run)

    async def healthy(batch: Batch) -> None:
        cluster = run.cluster
        if cluster is None or fleet is None:
            return
        nodes = [node for node in cluster.nodes if node.name in batch.names]
        await asyncio.gather(*(_back(fleet, node) for node in nodes))
        if any(node.controller for node in nodes):
            await _quorum(fleet, cluster.control_planes)

    return healthy


def _fleet(run: Context) -> Fleet | None:
    from talops.machineconfig.places import find_secrets

    if run.cluster is None or find_secrets(run.root) is None:
        return None
    from talops.cli.site import site_of
    from talops.stages.bundle import SecretsFile
    from talops.stages.fleet import Fleet

    secrets = SecretsFile(site_of(run.root), lambda *_: None)
    return Fleet(asyncio.run(secrets.require()))


async def _back(fleet: Fleet, node: Node) -> None:
    from talops.stages.fleet import Configured, Silent

    async def probe() -> Ready[None] | NotYet:
        state = await fleet.look(node)
        if isinstance(state, Silent):
            return NotYet(state.error.what)
        status = state.status if isinstance(state, Configured) else None
        if status and not status.ready:
            return NotYet(status.unmet[0][1] if status.unmet else status.stage)
        return Ready(None)

    note(f"waiting for {node.name} …")
    await wait_for(
        f"{node.name} is back at {node.address}",
        probe,
        timeout=BOOT_SECONDS,
        hint=f"look at the console of VM {node.name} in Proxmox; then run the same command again",
    )


async def _quorum(fleet: Fleet, control_planes: tuple[Node, ...]) -> None:
    """A control plane in maintenance mode was never a member: it does not count."""
    from talops.stages.fleet import Waiting
    from talops.talos import quorum

    states = await asyncio.gather(*map(fleet.look, control_planes))
    members = [n for n, s in zip(control_planes, states, strict=True) if not isinstance(s, Waiting)]
    if not members:
        return

    async def probe() -> Ready[None] | NotYet:
        talos = [fleet.talos(node) for node in members]
        try:
            health = await quorum.look(talos)
        finally:
            for each in talos:
                each.close()
        return NotYet("; ".join(health.unhealthy)) if health.unhealthy else Ready(None)

    await wait_for(
        "etcd has all its members",
        probe,
        timeout=BOOT_SECONDS,
        hint="`talops talos etcd status` shows every member",
    )

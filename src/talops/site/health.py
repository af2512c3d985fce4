"""Between two restarts: the nodes are ready again, and etcd has all its members."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.talos import quorum
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.inventory.model import Node
    from talops.site.fleet import Fleet
    from talops.site.site import Limits
    from talops.waiting import Waiting

    Report = Callable[[Waiting, str | None], None]


async def wait_healthy(
    fleet: Fleet,
    nodes: Sequence[Node],
    control_planes: Sequence[Node],
    limits: Limits,
    report: Report,
    *,
    whole: bool = True,
) -> None:
    """Wait until all `nodes` are ready; `whole`: after a control plane, until etcd is, too."""
    await asyncio.gather(*(_back(fleet, node, limits, report) for node in nodes))
    if whole and any(node.controller for node in nodes):
        await _etcd_whole(fleet, control_planes, limits, report)


async def _back(fleet: Fleet, node: Node, limits: Limits, report: Report) -> None:
    async def probe() -> Ready[None] | NotYet:
        state = await fleet.look(node)
        if isinstance(state, Unreachable):
            return NotYet(state.error.what)
        status = state.status if isinstance(state, Configured) else None
        if status and not status.ready:
            return NotYet(status.reasons or status.stage)
        return Ready(None)

    await wait_for(
        f"{node.name} to come back at {node.address}",
        probe,
        timeout=limits.install,
        interval=limits.interval,
        hint=f"check the console of VM {node.name} in Proxmox; then run the same command again",
        report=lambda waiting: report(waiting, node.name),
    )


async def _etcd_whole(
    fleet: Fleet, control_planes: Sequence[Node], limits: Limits, report: Report
) -> None:
    """A control plane in maintenance mode was never a member and does not count."""
    states = await asyncio.gather(*map(fleet.look, control_planes))
    members = [
        node
        for node, state in zip(control_planes, states, strict=True)
        if not isinstance(state, InMaintenance)
    ]
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
        "etcd to have all its members",
        probe,
        timeout=limits.etcd,
        interval=limits.interval,
        hint="talops talos etcd status",
        report=lambda waiting: report(waiting, None),
    )

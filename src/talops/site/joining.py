"""Control planes join a running etcd one after the other: each votes before the next one comes.

A new member is a learner until it has caught up, and etcd allows one learner at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.site.etcd_guard import look_at_etcd
from talops.site.founding.advice import how_to_wipe, majority_lost
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from talops.inventory.model import Node
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.waiting import Waiting

    Report = Callable[[Waiting], None]


async def joins_etcd(fleet: Fleet, site: Site, node: Node) -> bool:
    """Whether it is a new control plane of a cluster that was bootstrapped."""
    if not node.controller:
        return False
    members = (await look_at_etcd(fleet, site.cluster.control_planes)).members
    await _require_majority(fleet, site, members)
    return bool(members)


async def _require_majority(fleet: Fleet, site: Site, members: Collection[str]) -> None:
    """Members with data must be able to admit a new one; otherwise waiting for it is useless."""
    planes = [node for node in site.cluster.control_planes if node.name in members]
    kept = await asyncio.gather(*(fleet.has_etcd([node]) for node in planes))
    left = [node for node, has_data in zip(planes, kept, strict=True) if has_data]
    lost = sorted({node.name for node in planes} - {node.name for node in left})
    if lost and len(members) - len(lost) <= len(members) // 2:
        raise ConflictError(
            majority_lost(lost, len(members)),
            where=", ".join(node.name for node in left),
            hint=how_to_wipe(left),
        )


async def wait_for_others(fleet: Fleet, site: Site, node: Node, report: Report) -> None:
    """Until each control plane that answers votes; one that does not answer may be replaced."""

    async def probe() -> Ready[None] | NotYet:
        found = await look_at_etcd(fleet, site.cluster.control_planes)
        others = set(found.troubled) - {node.name}
        return NotYet(f"not healthy: {found.why(others)}") if others else Ready(None)

    await wait_for(
        f"etcd to be ready for {node.name}",
        probe,
        timeout=site.limits.etcd,
        interval=site.limits.interval,
        report=report,
        hint="talops talos etcd status",
    )


async def wait_until_voting(fleet: Fleet, site: Site, node: Node, report: Report) -> None:
    async def probe() -> Ready[None] | NotYet:
        found = await look_at_etcd(fleet, site.cluster.control_planes)
        if node.name in found.members and node.name in found.healthy:
            return Ready(None)
        return NotYet(f"not a voting member: {found.why([node.name])}")

    await wait_for(
        f"{node.name} to vote in etcd",
        probe,
        timeout=site.limits.install,
        interval=site.limits.interval,
        report=report,
        hint=f"talops talos logs etcd --nodes {node.address}",
    )

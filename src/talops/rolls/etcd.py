"""etcd keeps its majority while a control plane is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.site.etcd_guard import look_at_etcd
from talops.talos.errors import OutcomeUnknownError
from talops.talos.membership import objection_to_stop
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.inventory.model import Node
    from talops.rolls.options import RollOptions
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.waiting import Waiting


async def wait_for_etcd(
    fleet: Fleet, site: Site, node: Node, options: RollOptions, report: Callable[[Waiting], None]
) -> None:
    """Until every other member is healthy; a member may need a moment after its own restart."""
    if node.name in options.allow_unhealthy_etcd:
        return

    async def probe() -> Ready[None] | NotYet:
        found = await look_at_etcd(fleet, site.cluster.control_planes)
        reason = objection_to_stop(node.name, found)
        return NotYet(reason) if reason else Ready(None)

    await wait_for(
        f"etcd to tolerate the absence of {node.name}",
        probe,
        timeout=site.limits.etcd,
        interval=site.limits.interval,
        report=report,
        hint="repair etcd first: talops talos etcd status; then: talops up; or name the control "
        f"plane: --allow-unhealthy-etcd {node.name}",
    )


async def forfeit(fleet: Fleet, site: Site, node: Node) -> None:
    """Another member leads before this one stops; a single member has no one to hand over to.

    Where it fails because another member is lost, the check of etcd that follows names that member.
    """
    found = await look_at_etcd(fleet, site.cluster.control_planes)
    if node.name not in found.healthy or len(found.members) == 1:
        return
    async with fleet.talos(node) as talos:
        try:
            await talos.etcd.forfeit_leadership()
        except OutcomeUnknownError:
            return
        except TalopsError:
            now = await look_at_etcd(fleet, site.cluster.control_planes)
            if objection_to_stop(node.name, now) is None:
                raise

"""Nodes that talops added and that the inventory does not have any more: they have to leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.rolls.removal.vm_removal import VmRemoval
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.protection import Protected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter
    from talops.rolls.removal.removable import Removable
    from talops.rolls.standing import Known, Standing
    from talops.site.site import Site


class Leavers:
    """Other programs may add nodes, too (an autoscaler): these are none of our business."""

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._protected = Protected(site)
        self._vms = VmRemoval(site, report) if site.cluster.proxmox else None

    async def of(self, standing: Standing) -> tuple[Known, ...]:
        """Those with a VM in our state, members of etcd, recorded ones, and what a roll began."""
        chosen = self._site.nodes
        strangers = [k for k in standing.strangers(self._site.cluster) if chosen.search(k.name)]
        if not strangers:
            return ()
        enrolled = EnrolmentRecord(self._site.root)
        listed = await self._vms.names() if self._vms else frozenset[str]()
        found = tuple(
            known
            for known in strangers
            if known.name in listed
            or known.name in standing.etcd.members
            or known.marked
            or enrolled.entry(known.name)
        )
        await self._protected.require_unprotected(known.name for known in found)
        return found


def unnamed(leavers: Sequence[Known], removable: Removable) -> ConflictError | None:
    """Why these nodes must not be removed, unless each was named or the user is asked."""
    left = [known.name for known in leavers if known.name not in removable.names]
    if not left or removable.asks:
        return None
    return ConflictError(
        f"nodes.yaml does not have {', '.join(left)} any more, and removing a node destroys "
        "its VM and disks; nothing was changed",
        where="nodes.yaml",
        hint="to remove: " + " ".join(f"--allow-destroy {name}" for name in left),
    )

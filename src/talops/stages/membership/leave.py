"""Stage `leave`: a node leaves the cluster and its VM is destroyed; later it is created again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import ConflictError, TalopsError
from talops.pipeline.stage import Change, Stage
from talops.rolls.removal.leaving import Leaving
from talops.rolls.removal.replacing import Replacements
from talops.rolls.removal.vm_removal import VmRemoval
from talops.rolls.standing import as_node, look_at_cluster
from talops.site.protection import require_unprotected
from talops.talos.membership import objection_to_leave

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.rolls.rolling import Rolling
    from talops.rolls.standing import Known
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """`known`: None if the cluster does not have it. `begun`: the UID of the Node that an
    interrupted run began to replace. `objection`: what etcd would lose.
    """

    known: Known | None
    begun: str | None = None
    has_vm: bool = False
    objection: str | None = None


@dataclass(frozen=True)
class LeaveChange(Change):
    known: Known | None = None

    @property
    def impact(self) -> Impact:
        return Impact.REPLACES


class Leave(Stage[Facts, LeaveChange]):
    name = "leave"

    def __init__(self, site: Site, node: Node, report: Reporter, rolling: Rolling) -> None:
        self._site = site
        self._node = node
        self._rolling = rolling
        self._record = Replacements(site)
        self._vms = VmRemoval(site, report) if site.cluster.proxmox else None
        self._leaving = Leaving(rolling, self._vms, report)
        # A control plane that an interrupted run restarted takes the API with it.
        self.patience = site.limits.boot

    async def observe(self) -> Facts:
        name, fleet = self._node.name, await self._site.secrets.fleet()
        found = await look_at_cluster(self._site.cluster, fleet, self._rolling.roller.kube)
        known = found.nodes.get(name)
        member = name in found.etcd.members
        return Facts(
            known,
            await self._record.begun(name),
            self._vms is not None and name in await self._vms.names(),
            objection_to_leave(name, found.etcd) if member else None,
        )

    def plan(self, facts: Facts) -> list[LeaveChange]:
        """Nothing, if the replacement of an interrupted run has left already."""
        require_unprotected([self._node], "replace")
        name, known = self._node.name, facts.known
        if facts.begun is not None and (known is None or known.uid != facts.begun):
            return []
        if known is None:
            detail = "destroy its VM; the cluster does not have it"
            return [LeaveChange("replace", name, detail, name)] if facts.has_vm else []
        if facts.objection:
            raise ConflictError(
                f"refused to replace {name}: {facts.objection}; nothing was changed",
                where=known.address,
                hint="repair etcd first: talops talos etcd status; the only control plane is "
                "replaced with a snapshot (talops talos etcd snapshot FILE) and talops recover",
            )
        vm = ", destroy VM and disks" if facts.has_vm else ""
        detail = f"drain{', leave etcd' if known.controller else ''}, wipe{vm}, then join again"
        return [LeaveChange("replace", name, detail, name, known)]

    async def apply(self, change: LeaveChange) -> None:
        known, name = change.known, self._node.name
        await self._record.begin(name, known.uid if known else "")
        if known:
            node = as_node(known, self._site.cluster)
            await self._leaving.leave(node, "replacement", recreated=True)
        elif self._vms:
            await self._vms.destroy(name)

    async def verify(self, seen: Seen[Facts, LeaveChange], /) -> None:
        if not seen.applied:
            return
        facts = await self.observe()
        if facts.known is not None or facts.has_vm:
            raise TalopsError(
                f"{self._node.name} has not left the cluster",
                hint=f"talops replace {self._node.name}",
            )

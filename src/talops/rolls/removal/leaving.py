"""A node leaves the cluster permanently: etcd, its disks, its VM, and Kubernetes, in this order.

Its Node is deleted last, so that the next run continues an interrupted removal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.kube.objects import Ref
from talops.rolls.standing import answers_as
from talops.rolls.turn import Turn
from talops.rolls.wiping import wipe
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.etcd_guard import look_at_etcd
from talops.talos.membership import objection_to_leave

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.rolls.removal.vm_removal import VmRemoval
    from talops.rolls.rolling import Rolling
    from talops.talos.membership import Etcd


class Leaving:
    """`vms` destroys the VM of a node; None if nodes have no VMs."""

    def __init__(self, rolling: Rolling, vms: VmRemoval | None, report: Reporter) -> None:
        self._site = rolling.site
        self._rolling = rolling
        self._vms = vms
        self._report = report

    async def leave(self, node: Node, reason: str, *, recreated: bool = False) -> None:
        """Through the roll: emptied first, and only while etcd can do without it."""

        async def act() -> None:
            await self._act(node)

        roller = self._rolling.roller
        found = await roller.candidates([node])
        roller.expect_sick(candidate.name for candidate in found if candidate.sick)
        turn = Turn(node, reason, act, leaves=True, recreated=recreated)
        await roller.turn(turn, self._report)

    async def _act(self, node: Node) -> None:
        fleet = await self._site.secrets.fleet()
        if node.controller:
            await self._require_quorum(node)
        if await answers_as(fleet, node):
            hint = (
                f"check the console of {node.name}, then run the same command again: if "
                f"{node.name} still does not answer, it leaves without its reset"
            )
            await wipe(fleet, node, self._site, self._report, graceful=True, hint=hint)
        if node.controller:
            await self.remove_member(node.name)
        EnrolmentRecord(self._site.root).wiped(node.name)
        if self._vms:
            await self._vms.destroy(node.name)
        async with self._rolling.roller.kube.open() as kube:
            await kube.delete(Ref("v1", "Node", node.name))

    async def _require_quorum(self, node: Node) -> None:
        etcd = await self._etcd()
        if reason := objection_to_leave(node.name, etcd):
            raise ConflictError(
                f"refused to remove {node.name}: {reason}",
                where=str(node.address),
                hint="repair etcd first: talops talos etcd status",
            )

    async def remove_member(self, name: str) -> None:
        """The others strike off a member that did not leave itself."""
        etcd = await self._etcd()
        member = etcd.members.get(name)
        if member is None:
            return
        fleet, failure = await self._site.secrets.fleet(), None
        for node in self._site.cluster.control_planes:
            if node.name == name or node.name not in etcd.healthy:
                continue
            async with fleet.talos(node) as talos:
                try:
                    await talos.etcd.remove_member(member)
                except TalopsError as error:
                    failure = error
                else:
                    return
        raise failure or TalopsError(
            f"no other healthy control plane can remove {name} from etcd",
            hint="talops talos etcd status",
        )

    async def _etcd(self) -> Etcd:
        return await look_at_etcd(
            await self._site.secrets.fleet(), self._site.cluster.control_planes
        )

"""What proves a tried config: etcd has the node, and its kubelet reaches the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.conditions import condition
from talops.kube.objects import Ref
from talops.reconfigure.trial import Proof
from talops.site.etcd_guard import look_at_etcd
from talops.talos.kinds import NODENAME, NODENAME_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Node
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet

_LEASES = "kube-node-lease"


class ClusterProof(Proof):
    """Only what worked before the trial is demanded after it."""

    def __init__(self, node: Node, fleet: Fleet, planes: Sequence[Node], kube: KubeAccess) -> None:
        self._node = node
        self._fleet = fleet
        self._planes = planes
        self._kube = kube
        self._name = node.name
        self._member = False
        self._ready = False
        self._renewed: str | None = None

    async def before(self) -> None:
        self._renewed = None
        if self._node.controller:
            found = await look_at_etcd(self._fleet, self._planes)
            self._member = self._node.name in found.healthy
        async with self._fleet.talos(self._node) as talos:
            self._name = await talos.resources.find(NODENAME, NODENAME_ID) or self._node.name
        try:
            self._ready = not await self._wrong()
        except TalopsError:  # Kubernetes did not work before
            self._ready = False

    async def missing(self) -> str:
        if self._member:
            found = await look_at_etcd(self._fleet, self._planes)
            if self._node.name not in found.healthy:
                return f"its etcd member is not healthy: {found.why([self._node.name])}"
        if not self._ready:
            return ""
        return await self._wrong() or await self._unheard()

    async def _wrong(self) -> str:
        async with self._kube.open() as kube:
            seen = await kube.get(Ref("v1", "Node", self._name))
        if seen is None:
            return f"Kubernetes has no Node {self._name}"
        reason = condition(seen, "Ready")
        return f"Node not Ready: {reason}" if reason else ""

    async def _unheard(self) -> str:
        """A Node stays Ready for most of a minute after its kubelet lost the API; the lease tells
        sooner. The first answer is the base: only a later renewal was made with the tried config.
        """
        async with self._kube.open() as kube:
            lease = await kube.get(Ref("coordination.k8s.io/v1", "Lease", self._name, _LEASES))
        renewed = str(((lease or {}).get("spec") or {}).get("renewTime") or "")
        if self._renewed is None:
            self._renewed = renewed
        return "" if renewed != self._renewed else "its kubelet has not renewed its lease yet"

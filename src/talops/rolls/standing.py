"""Which nodes the running cluster has, as Kubernetes and etcd list them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, TalopsError, UnreachableError
from talops.nodeplan.machine import Machine
from talops.nodeplan.steps import World
from talops.rolls.marks import mark_of
from talops.site.etcd_guard import look_at_etcd
from talops.site.founding.record import any_founding
from talops.talos.kinds import NODENAME, NODENAME_ID
from talops.talos.membership import member_address, member_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.kube.objects import Object
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.talos.membership import Etcd

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclass(frozen=True)
class Known:
    """A node of the running cluster. `uid`: of its Node in Kubernetes; empty without one.
    `marked`: an interrupted roll has begun with it.
    """

    name: str
    controller: bool
    address: str
    uid: str = ""
    marked: bool = False

    @property
    def machine(self) -> Machine:
        return Machine(self.name, self.controller, self.address)


@dataclass(frozen=True)
class Standing:
    nodes: Mapping[str, Known]
    etcd: Etcd

    @property
    def world(self) -> World:
        return World(frozenset(self.etcd.members), self.etcd.sick)

    def strangers(self, cluster: Cluster) -> list[Known]:
        """Nodes that the inventory does not have (any more)."""
        return [known for name, known in self.nodes.items() if name not in cluster.node_names]


async def look_at_cluster(cluster: Cluster, fleet: Fleet, kube: KubeAccess) -> Standing:
    """Every node that is in service; no answer is an error, never an empty list."""
    etcd = await look_at_etcd(fleet, cluster.control_planes)
    if not etcd.founded:
        return Standing({}, etcd)
    listed = await kube.nodes()
    found = await asyncio.gather(*(_known(cluster, fleet, node, etcd) for node in listed.values()))
    nodes = {known.name: known for known in found}
    lost = [name for name in etcd.members if name not in nodes]
    addresses = await _member_addresses(fleet, cluster.control_planes) if lost else {}
    nodes |= {n: Known(n, controller=True, address=addresses.get(n, "")) for n in lost}
    return Standing(nodes, etcd)


async def names_in_service(site: Site, kube: KubeAccess) -> frozenset[str]:
    """Nodes that Kubernetes or etcd knows; none before the cluster was bootstrapped."""
    if await site.secrets.read() is None:
        return frozenset()
    try:
        found = await look_at_cluster(site.cluster, await site.secrets.fleet(), kube)
    except (UnreachableError, NotReadyError):
        if any_founding(site.root):
            raise
        return frozenset()
    return frozenset(found.nodes)


def as_node(known: Known, cluster: Cluster) -> Node:
    """For clients: an entry like the others, with its own name, address and role."""
    wanted = next((node for node in cluster.nodes if node.name == known.name), None)
    address = IPv4Address(known.address) if known.address else None
    return replace(
        wanted or replace(cluster.nodes[0], vm=None, protected=False, uuid=None, fingerprint=None),
        name=known.name,
        address=address or (wanted.address if wanted else IPv4Address(0)),
        controller=known.controller,
    )


async def _known(cluster: Cluster, fleet: Fleet, node: Object, etcd: Etcd) -> Known:
    meta = node["metadata"]
    return Known(
        meta["name"],
        controls(cluster, node, etcd),
        await _address(cluster, fleet, node),
        meta["uid"],
        mark_of(node) is not None,
    )


def controls(cluster: Cluster, node: Object, etcd: Etcd) -> bool:
    """Its role now. Anyone can change a label; a member of etcd is a control plane."""
    name = node["metadata"]["name"]
    if name in etcd.members:
        return True
    wanted = next((each for each in cluster.nodes if each.name == name), None)
    labelled = CONTROL_PLANE in (node["metadata"].get("labels") or {})
    return labelled and (wanted is None or wanted.controller)


async def _address(cluster: Cluster, fleet: Fleet, node: Object) -> str:
    """A node with several addresses may register another one than that of the inventory."""
    found = internal_addresses(node)
    name = node["metadata"]["name"]
    wanted = next((each for each in cluster.nodes if each.name == name), None)
    if wanted is None:
        return found[0] if found else ""
    if not found or str(wanted.address) in found or await answers_as(fleet, wanted):
        return str(wanted.address)
    return found[0]


async def answers_as(fleet: Fleet, node: Node) -> bool:
    """Whether the machine at this address is this node of the cluster."""
    async with fleet.talos(node) as talos:
        try:
            return await talos.resources.find(NODENAME, NODENAME_ID) == node.name
        except TalopsError:
            return False


async def _member_addresses(fleet: Fleet, planes: Sequence[Node]) -> dict[str, str]:
    for node in planes:
        async with fleet.talos(node) as talos:
            try:
                members = await talos.etcd.members(local=True)
            except TalopsError:
                continue
        return {member_name(m): address for m in members if (address := member_address(m))}
    return {}


def internal_addresses(node: Object) -> list[str]:
    listed = (node.get("status") or {}).get("addresses") or []
    return [a["address"] for a in listed if a["type"] == "InternalIP" and ":" not in a["address"]]

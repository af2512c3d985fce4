"""The versions of Kubernetes that run, component by component and node by node."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError
from talops.machineconfig.kubernetes_images import (
    STATIC_PODS,
    Component,
    numbers,
    read,
    version_of,
    versions,
)
from talops.site.fleet import Configured, all_answer
from talops.talos.kinds import NODENAME, NODENAME_ID
from talops.upgrades.kubernetes.mark import MARK, marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.inventory.model import Node
    from talops.kube.objects import Object
    from talops.machineconfig.kubernetes_images import Versions
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet, State
    from talops.site.site import Site

_STATIC = "tier=control-plane"


@dataclass(frozen=True)
class NodeRunning:
    """`name`: in Kubernetes; empty while the node has not joined.

    `kubelet`: the version that its Node reports. `pods`: those of its static pods.
    """

    node: Node
    name: str
    documents: tuple[dict[str, Any], ...] = field(repr=False)
    pods: Versions = field(default_factory=dict)
    kubelet: str = ""

    @property
    def config(self) -> Versions:
        return versions(self.documents)

    @property
    def all(self) -> list[str]:
        """Every version of it: what runs, and what its config asks for."""
        return list(filter(None, [*self.config.values(), *self.pods.values(), self.kubelet]))


@dataclass(frozen=True)
class Running:
    """`unfinished`: the version from which an interrupted upgrade started."""

    nodes: tuple[NodeRunning, ...]
    unfinished: str = ""

    @property
    def planes(self) -> tuple[NodeRunning, ...]:
        return tuple(seen for seen in self.nodes if seen.node.controller)

    @property
    def versions(self) -> list[str]:
        found = [version for seen in self.nodes for version in seen.all]
        return [*found, self.unfinished] if self.unfinished else found

    @property
    def low(self) -> str:
        return min(self.versions, key=numbers)

    @property
    def high(self) -> str:
        return max(self.versions, key=numbers)

    def oldest(self, component: Component) -> str:
        """The oldest version that runs of a static pod."""
        found = [seen.pods[component] for seen in self.planes if component in seen.pods]
        return min(found, key=numbers, default="")


async def look_at(site: Site, fleet: Fleet, access: KubeAccess) -> Running:
    """Raises if a node of the cluster, or the Kubernetes API, does not answer."""
    states = await fleet.look_at_all(site.cluster.nodes)
    async with access.open() as kube:
        nodes = {n["metadata"]["name"]: n for n in await kube.list_all("v1", "Node")}
        pods = await kube.list_all("v1", "Pod", namespace="kube-system", labels=_STATIC)
        unfinished = marked(await kube.get(MARK))
    # A node that Kubernetes does not know may be a VM that was created a moment ago.
    known = [n for n in site.cluster.nodes if n.name in nodes]
    all_answer(known, states)
    found = await asyncio.gather(
        *(
            _seen(fleet, node, states[node.name], nodes, pods)
            for node in site.cluster.nodes
            if isinstance(states[node.name], Configured)
        )
    )
    running = Running(tuple(found), unfinished)
    if not running.versions:
        raise NotReadyError(
            "no config names a version of Kubernetes, and no component reports one",
            where=str(site.cluster.endpoint),
            hint="talops verify",
        )
    return running


async def _seen(
    fleet: Fleet, node: Node, state: State, nodes: Mapping[str, Object], pods: Iterable[Object]
) -> NodeRunning:
    assert isinstance(state, Configured)
    name = node.name if node.name in nodes else await _nodename(fleet, node, nodes)
    info = (nodes[name].get("status") or {}).get("nodeInfo") or {} if name else {}
    return NodeRunning(
        node,
        name,
        tuple(read(state.config)),
        _static_pods(name, pods) if name and node.controller else {},
        version_of(f"kubelet:{info.get('kubeletVersion')}"),
    )


async def _nodename(fleet: Fleet, node: Node, nodes: Mapping[str, Object]) -> str:
    """Patches can give a node another name than the inventory."""
    async with fleet.talos(node) as talos:
        found = await talos.resources.find(NODENAME, NODENAME_ID) or ""
    return found if found in nodes else ""


def _static_pods(name: str, pods: Iterable[Object]) -> Versions:
    found = {}
    for pod in pods:
        if pod["spec"].get("nodeName") != name:
            continue
        component = (pod["metadata"].get("labels") or {}).get("k8s-app")
        if component in STATIC_PODS:
            found[Component(component)] = version_of(pod["spec"]["containers"][0]["image"])
    return {component: version for component, version in found.items() if version}

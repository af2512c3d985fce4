"""The network between nodes: who can reach whom, who is discovered, who holds a shared address."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from talops.lab.kubernetes.api import KubeApi
from talops.lab.kubernetes.apiserver import admin_context
from talops.lab.talos.cluster.vip import SharedAddress
from talops.lab.talos.cluster.workloads import Workloads
from talops.lab.talos.resources.store import ResourceStore

if TYPE_CHECKING:
    from talops.lab.kubernetes.pods.runner import PodRunner
    from talops.lab.talos.machine.node import Node


class Fabric:
    """All nodes of a lab. Clusters are identified by their id, as in Talos discovery."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._planes: dict[str, Node] = {}
        self._discovery: dict[str, ResourceStore] = {}
        # By cluster, with the CAs that it was made for.
        self._apis: dict[str, tuple[tuple[bytes, ...], KubeApi]] = {}
        self._vips: dict[str, SharedAddress] = {}
        self._leaders: dict[str, Node] = {}
        self._workloads: dict[KubeApi, Workloads] = {}
        # Every accepted bootstrap, by cluster id: more than one name means a split cluster.
        self.foundings: dict[str, list[str]] = {}

    def add(self, node: Node) -> None:
        self._nodes[node.machine.uuid] = node

    def remove(self, uuid: str) -> None:
        self._nodes.pop(uuid, None)
        self._planes.pop(uuid, None)

    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def node(self, uuid: str) -> Node | None:
        return self._nodes.get(uuid)

    def by_address(self, address: str) -> Node | None:
        return next((n for n in self._nodes.values() if address in n.addresses), None)

    def discovery(self, cluster_id: str) -> ResourceStore:
        """Members of one cluster, shared by all its nodes instead of copied to each."""
        return self._discovery.setdefault(cluster_id, ResourceStore())

    def add_control_plane(self, node: Node) -> None:
        """Kept separately, because every worker reads them often."""
        self._planes[node.machine.uuid] = node

    def control_planes(self, cluster_id: str) -> list[Node]:
        """The nodes that others can reach now."""
        return [
            node
            for node in self._planes.values()
            if node.config is not None
            and node.config.control_plane
            and node.config.cluster_id == cluster_id
            and node.reachable
        ]

    def etcd_members(self, node: Node) -> list[str]:
        """Addresses of other control planes whose etcd runs."""
        if node.config is None:
            return []
        others = self.control_planes(node.config.cluster_id)
        return [o.addresses[0] for o in others if o is not node and o.control_plane.etcd_running]

    def api_servers(self, cluster_id: str) -> list[str]:
        return [
            n.addresses[0] for n in self.control_planes(cluster_id) if n.control_plane.api_ready
        ]

    def trustd(self, node: Node) -> Node | None:
        """The control plane that signs for this worker: it needs the same authority and token.

        A worker asks the control planes that it discovers and the cluster's endpoint. If that
        is a shared address, nothing answers there before etcd does.
        """
        for other in self._trusted(node):
            config = other.config
            if config is None or node.config is None or not other.api_up:
                continue
            # The worker trusts the certificate of trustd, and trustd the token of the worker.
            trusted = config.os_ca.crt.strip() in node.config.trusted_os_cas
            if trusted and config.machine.get("token") == node.config.machine.get("token"):
                return other
        return None

    def _trusted(self, node: Node) -> list[Node]:
        assert node.config is not None
        if node.discovers:
            return self.control_planes(node.config.cluster_id)
        host = node.config.endpoint_host
        try:
            ipaddress.ip_address(host)
        except ValueError:  # a name stands for a load balancer in front of all running ones
            return self.control_planes(node.config.cluster_id)
        shared = self._vips.get(host)
        found = self.by_address((shared.holder or "") if shared else host)
        return [found] if found is not None and found.reachable else []

    def kube_api(self, cluster_id: str) -> KubeApi | None:
        """Kubernetes of one cluster, through whichever API server is up; None before the first."""
        configs = [n.config for n in self.control_planes(cluster_id) if n.config is not None]
        if not configs:
            return None
        pairs = [config.authority("ca") for config in configs]
        trusted = [config.trusted_kubernetes_cas for config in configs]
        # During a rotation, every control plane accepts at least one of them.
        common = [pair for pair in pairs if all(pair.crt.strip() in each for each in trusted)]
        authority = (common or pairs)[0]
        key = (authority.crt, *sorted({pair.crt for pair in pairs}))
        if cluster_id not in self._apis:
            context = admin_context(authority, b"".join(key[1:]))
            api = KubeApi(lambda: self.api_servers(cluster_id), context)
            self._apis[cluster_id] = (key, api)
        known, api = self._apis[cluster_id]
        if known != key:
            api.use(admin_context(authority, b"".join(key[1:])))
            self._apis[cluster_id] = (key, api)
        return api

    def kube_apis(self) -> dict[str, KubeApi]:
        """Kubernetes of every cluster that has an API server up, by the cluster's id."""
        ids = {n.config.cluster_id for n in self._planes.values() if n.config is not None}
        found = {i: self.kube_api(i) for i in ids if self.api_servers(i)}
        return {i: api for i, api in found.items() if api is not None}

    def leader(self, cluster_id: str) -> Node | None:
        """Of the controllers: it stays the leader for as long as it can."""
        able = [n for n in self.control_planes(cluster_id) if n.control_plane.api_ready]
        if self._leaders.get(cluster_id) not in able:
            self._leaders.pop(cluster_id, None)
            if able:
                self._leaders[cluster_id] = able[0]
        return self._leaders.get(cluster_id)

    def workloads(self, api: KubeApi, attach: float) -> Workloads:
        """`attach` is how long it takes to attach a volume."""
        if api not in self._workloads:
            self._workloads[api] = Workloads(api, attach, self._holds_volumes)
        return self._workloads[api]

    def _holds_volumes(self, name: str) -> bool:
        return any(n.hostname == name and n.faults.volumes_stuck for n in self._nodes.values())

    def detach(self, runner: PodRunner) -> None:
        """End the flow of pods to this kubelet."""
        for workloads in self._workloads.values():
            workloads.detach(runner)

    def vip(self, address: str) -> SharedAddress:
        if address not in self._vips:
            self._vips[address] = SharedAddress(address)
        return self._vips[address]

    async def settle_vips(self) -> None:
        """Assign each shared address to one control plane that can serve it."""
        for address, shared in list(self._vips.items()):
            able = [
                node
                for node in self._nodes.values()
                if node.reachable
                and node.config is not None
                and address in node.config.vips
                and node.control_plane.api_ready
            ]
            await shared.settle([node.addresses[0] for node in able])

    async def close(self) -> None:
        for shared in self._vips.values():
            await shared.close()
        for workloads in self._workloads.values():
            await workloads.close()
        for _, api in self._apis.values():
            await api.close()
        self._workloads.clear()
        self._leaders.clear()
        self._apis.clear()
        self._vips.clear()

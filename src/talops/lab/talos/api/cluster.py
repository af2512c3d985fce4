"""The cluster's health as a control plane judges it, check by check."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.errors import TalopsError
from talops.lab.talos.api.common import require_control_plane
from talops.lab.talos.call import Api
from talops.lab.talos.machine.stages import Stage
from talops.lab.talos.resources.kinds import DIAGNOSTICS, STATIC_PODS, VOLUMES
from talops.lab.talos.resources.specs import message
from talops.talos.wire import cluster_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.lab.talos.machine.node import Node
    from talops.lab.talos.resources.store import Stored

_POLL = 0.5
_DEFAULT_WAIT = 300.0
_SKIPPED = "SKIP"
_MIB = 2**20
# By machine type, without the memory that the kernel reserves.
_LEAST_MEMORY = {"controlplane": (1848 - 150) * _MIB, "worker": (1024 - 150) * _MIB}
# A disk of 6 GiB without EFI, STATE, META and the partition table.
_LEAST_EPHEMERAL = 6 * 2**30 - (2101 + 100 + 1 + 10) * _MIB
_COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_SYSTEM = "namespaces/kube-system"


class ClusterApi(Api):
    """cluster.ClusterService: HealthCheck."""

    SERVICE = "cluster.ClusterService"

    async def health_check(
        self, request: cluster_pb2.HealthCheckRequest
    ) -> AsyncIterator[cluster_pb2.HealthCheckProgress]:
        require_control_plane(self.node, "health check")
        limit = request.wait_timeout.ToSeconds() if request.HasField("wait_timeout") else 0
        deadline = time.monotonic() + (limit or _DEFAULT_WAIT)
        places = " ".join(f'"{node.addresses[0]}"' for node in self._nodes)
        yield _progress(f"discovered nodes: [{places}]")
        for name, check in self._checks():
            last = ""
            yield _progress(f"waiting for {name}: ...")
            while (reason := await _tried(check)) not in {None, _SKIPPED}:
                if reason != last:
                    last = reason
                    yield _progress(f"waiting for {name}: {reason}")
                if time.monotonic() > deadline:
                    text = f"waiting for {name}: {reason}: context deadline exceeded"
                    raise GRPCError(Status.DEADLINE_EXCEEDED, text)
                await asyncio.sleep(_POLL)
            yield _progress(f"waiting for {name}: {reason or 'OK'}")

    def _checks(self) -> list[tuple[str, Callable[[], Awaitable[str | None]]]]:
        return [
            ("etcd to be healthy", self._etcd_healthy),
            ("etcd members to be consistent across nodes", self._etcd_consistent),
            ("etcd members to be control plane nodes", self._etcd_is_control_planes),
            ("apid to be ready", self._apid_ready),
            ("all nodes memory sizes", self._memory_sizes),
            ("all nodes disk sizes", self._disk_sizes),
            ("no diagnostics", self._no_diagnostics),
            ("kubelet to be healthy", self._kubelet_healthy),
            ("all nodes to finish boot sequence", self._booted),
            ("all k8s nodes to report", self._reported),
            ("all control plane static pods to be running", self._static_pods),
            ("all control plane components to be ready", self._components),
            ("all k8s nodes to report ready", self._nodes_ready),
            ("kube-proxy to report ready", self._kube_proxy),
            ("coredns to report ready", self._coredns),
            ("all k8s nodes to report schedulable", self._schedulable),
        ]

    @property
    def _planes(self) -> list[Node]:
        assert self.node.config is not None
        return self.node.fabric.control_planes(self.node.config.cluster_id)

    @property
    def _nodes(self) -> list[Node]:
        assert self.node.config is not None
        cluster = self.node.config.cluster_id
        return [n for n in self.node.fabric.nodes() if n.config and n.config.cluster_id == cluster]

    async def _etcd_healthy(self) -> str | None:
        bad = [n.hostname for n in self._planes if not _healthy(n, "etcd")]
        return f'service "etcd" not in expected state on {", ".join(bad)}' if bad else None

    async def _etcd_consistent(self) -> str | None:
        seen = set()
        for node in self._planes:
            etcd = node.control_plane.etcd
            if etcd is None:
                return f"etcd is not running on {node.hostname}"
            seen.add(frozenset(m.id for m in await etcd.client.members()))
        return None if len(seen) == 1 else "etcd member lists differ"

    async def _etcd_is_control_planes(self) -> str | None:
        etcd = self.node.control_plane.etcd
        assert etcd is not None
        members = {m.name for m in await etcd.client.members()}
        planes = {n.hostname for n in self._planes}
        return None if members == planes else f"etcd members {members} are not {planes}"

    async def _apid_ready(self) -> str | None:
        bad = [n.hostname for n in self._nodes if not n.api_up or not n.reachable]
        return f"apid is not ready on {', '.join(bad)}" if bad else None

    async def _kubelet_healthy(self) -> str | None:
        bad = [n.hostname for n in self._nodes if not _healthy(n, "kubelet")]
        return f'service "kubelet" not in expected state on {", ".join(bad)}' if bad else None

    async def _booted(self) -> str | None:
        bad = [n.hostname for n in self._nodes if n.status.stage is not Stage.RUNNING]
        return f"still booting: {', '.join(bad)}" if bad else None

    async def _memory_sizes(self) -> str | None:
        small = []
        for node in self._nodes:
            least = _LEAST_MEMORY[_kind(node)]
            if node.machine.memory < least:
                small.append(
                    f'node "{node.addresses[0]}" does not meet memory requirements: expected at'
                    f" least {least // _MIB} MiB, actual {node.machine.memory // _MIB} MiB"
                )
        return "; ".join(small) or None

    async def _disk_sizes(self) -> str | None:
        small = []
        for node in self._nodes:
            found = node.resources.get((*VOLUMES, "EPHEMERAL"))
            size = _size(found) if found else 0
            if size < _LEAST_EPHEMERAL:
                small.append(
                    f'ephemeral partition for node "{node.addresses[0]}" is too small, expected at'
                    f" least {_LEAST_EPHEMERAL} B, actual {size} B"
                )
        return "; ".join(small) or None

    async def _no_diagnostics(self) -> str | None:
        active = [
            f"{node.addresses[0]}: {found.item.id}"
            for node in self._nodes
            for found in node.resources.list(*DIAGNOSTICS)
        ]
        return f"active diagnostics: {'; '.join(active)}" if active else None

    async def _listed(self, path: str) -> list[dict[str, Any]]:
        assert self.node.config is not None
        api = self.node.fabric.kube_api(self.node.config.cluster_id)
        listing = await api.get(path) if api else None
        return list((listing or {}).get("items", []))

    async def _kubernetes(self) -> dict[str, bool]:
        return {n["metadata"]["name"]: _ready(n) for n in await self._listed("/api/v1/nodes")}

    async def _static_pods(self) -> str | None:
        for node in self._planes:
            there = {found.item.id for found in node.resources.list(*STATIC_PODS)}
            wanted = {f"kube-system/{name}-{node.hostname}" for name in _COMPONENTS}
            if missing := sorted(wanted - there):
                return f"missing static pods on node {node.addresses[0]}: {missing}"
        return None

    async def _components(self) -> str | None:
        pods = await self._listed(f"/api/v1/{_SYSTEM}/pods")
        ready = {pod["metadata"]["name"] for pod in pods if _ready(pod)}
        wanted = {f"{name}-{node.hostname}" for name in _COMPONENTS for node in self._planes}
        bad = sorted(wanted - ready)
        return f"pods are not ready: {bad}" if bad else None

    async def _kube_proxy(self) -> str | None:
        found = await self._labelled("/apis/apps/v1", "daemonsets", "kube-proxy")
        return await self._pods_of("kube-proxy") if found else _SKIPPED

    async def _coredns(self) -> str | None:
        found = await self._labelled("/apis/apps/v1", "deployments", "kube-dns")
        return await self._pods_of("kube-dns") if found else _SKIPPED

    async def _labelled(self, group: str, plural: str, app: str) -> list[dict[str, Any]]:
        return await self._listed(f"{group}/{_SYSTEM}/{plural}?labelSelector=k8s-app%3D{app}")

    async def _pods_of(self, app: str) -> str | None:
        pods = await self._labelled("/api/v1", "pods", app)
        if not pods:
            return f'no pods found for namespace "kube-system" and label selector "k8s-app={app}"'
        bad = sorted(pod["metadata"]["name"] for pod in pods if not _ready(pod))
        return f"some pods are not ready: {bad}" if bad else None

    async def _schedulable(self) -> str | None:
        listed = await self._listed("/api/v1/nodes")
        bad = [n["metadata"]["name"] for n in listed if n["spec"].get("unschedulable")]
        return f"some nodes are not schedulable: {bad}" if bad else None

    async def _reported(self) -> str | None:
        missing = {n.hostname for n in self._nodes} - set(await self._kubernetes())
        return f"can't find expected nodes {sorted(missing)}" if missing else None

    async def _nodes_ready(self) -> str | None:
        bad = sorted(name for name, ready in (await self._kubernetes()).items() if not ready)
        return f"some nodes are not ready: {bad}" if bad else None


def _healthy(node: Node, name: str) -> bool:
    service = node.services.get(name)
    return service is not None and service.state == "Running" and bool(service.healthy)


def _kind(node: Node) -> str:
    assert node.config is not None
    return "controlplane" if node.config.control_plane else "worker"


def _size(volume: Stored) -> int:
    spec: Any = message("block.VolumeStatusSpec")
    return int(spec.FromString(volume.item.proto).size)


def _ready(thing: dict[str, Any]) -> bool:
    """A node or a pod."""
    conditions = thing.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def _tried(check: Callable[[], Awaitable[str | None]]) -> str | None:
    try:
        return await check()
    except TalopsError as error:
        return str(error)


def _progress(message: str) -> cluster_pb2.HealthCheckProgress:
    return cluster_pb2.HealthCheckProgress(message=message)

"""The cluster's health as a control plane judges it, check by check."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.errors import TalopsError
from talops.lab.talos.api.common import require_control_plane
from talops.lab.talos.call import Api
from talops.lab.talos.stages import Stage
from talops.talos.wire import cluster_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.lab.talos.node import Node

_POLL = 0.5
_DEFAULT_WAIT = 300.0


class ClusterApi(Api):
    """cluster.ClusterService: HealthCheck."""

    SERVICE = "cluster.ClusterService"

    async def health_check(
        self, request: cluster_pb2.HealthCheckRequest
    ) -> AsyncIterator[cluster_pb2.HealthCheckProgress]:
        require_control_plane(self.node, "health check")
        limit = request.wait_timeout.ToSeconds() if request.HasField("wait_timeout") else 0
        deadline = time.monotonic() + (limit or _DEFAULT_WAIT)
        for name, check in self._checks():
            last = ""
            while (reason := await _tried(check)) is not None:
                if reason != last:
                    last = reason
                    yield _progress(f"waiting for {name}: {reason}")
                if time.monotonic() > deadline:
                    text = f"waiting for {name}: {reason}: context deadline exceeded"
                    raise GRPCError(Status.DEADLINE_EXCEEDED, text)
                await asyncio.sleep(_POLL)
            yield _progress(f"waiting for {name}: OK")

    def _checks(self) -> list[tuple[str, Callable[[], Awaitable[str | None]]]]:
        return [
            ("etcd to be healthy", self._etcd_healthy),
            ("etcd members to be consistent across nodes", self._etcd_consistent),
            ("etcd members to be control plane nodes", self._etcd_is_control_planes),
            ("apid to be ready", self._apid_ready),
            ("kubelet to be healthy", self._kubelet_healthy),
            ("all nodes to finish boot sequence", self._booted),
            ("all k8s nodes to report", self._reported),
            ("all k8s nodes to report ready", self._nodes_ready),
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

    async def _kubernetes(self) -> dict[str, bool]:
        assert self.node.config is not None
        api = self.node.fabric.kube_api(self.node.config.cluster_id)
        listing = await api.get("/api/v1/nodes") if api else None
        return {
            item["metadata"]["name"]: any(
                c["type"] == "Ready" and c["status"] == "True"
                for c in item.get("status", {}).get("conditions", [])
            )
            for item in (listing or {}).get("items", [])
        }

    async def _reported(self) -> str | None:
        missing = {n.hostname for n in self._nodes} - set(await self._kubernetes())
        return f"can't find expected nodes {sorted(missing)}" if missing else None

    async def _nodes_ready(self) -> str | None:
        bad = sorted(name for name, ready in (await self._kubernetes()).items() if not ready)
        return f"some nodes are not ready: {bad}" if bad else None


def _healthy(node: Node, name: str) -> bool:
    service = node.services.get(name)
    return service is not None and service.state == "Running" and bool(service.healthy)


async def _tried(check: Callable[[], Awaitable[str | None]]) -> str | None:
    try:
        return await check()
    except TalopsError as error:
        return str(error)


def _progress(message: str) -> cluster_pb2.HealthCheckProgress:
    return cluster_pb2.HealthCheckProgress(message=message)

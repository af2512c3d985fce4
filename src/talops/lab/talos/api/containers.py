"""Containers and images: Talos' own services, and the static pods of a control plane."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos import pods
from talops.lab.talos.api.common import full_disk
from talops.lab.talos.api.power import missing
from talops.lab.talos.call import Api
from talops.lab.talos.pods import KUBERNETES, PAUSE, static_pods
from talops.talos.wire import common_pb2, image_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.lab.talos.machine.node import Node

_SYSTEM = "system"
_OF_TALOS = {"apid", "trustd"}
_IMAGE_SIZE = 30 * 2**20
_NO_RUNTIME = (
    "ListPodSandbox with filter state:{} from runtime service failed: rpc error: code = Unavailable"
    ' desc = connection error: desc = "transport: Error while dialing: dial unix'
    ' /run/containerd/containerd.sock: connect: no such file or directory"'
)


class ContainersApi(Api):
    """machine.MachineService: Containers, Stats, ImageList, ImagePull."""

    SERVICE = "machine.MachineService"

    async def containers(self, request: machine_pb2.ContainersRequest) -> machine_pb2.Container:
        return machine_pb2.Container(containers=_containers(self.node, request.namespace))

    async def stats(self, request: machine_pb2.StatsRequest) -> machine_pb2.Stats:
        found = [
            machine_pb2.Stat(
                namespace=container.namespace,
                id=container.id,
                memory_usage=_IMAGE_SIZE,
                cpu_usage=10**9,
                pod_id=container.pod_id,
                name=container.name,
            )
            for container in _containers(self.node, request.namespace)
        ]
        return machine_pb2.Stats(stats=found)

    async def image_pull(self, request: machine_pb2.ImagePullRequest) -> machine_pb2.ImagePull:
        full_disk(self.node, "/var/lib/containerd")
        if missing(self.node, request.reference):
            text = f"error pulling image: {request.reference}: not found"
            raise GRPCError(Status.NOT_FOUND, text)
        await asyncio.sleep(self.node.faults.slow_pull)
        timing = self.node.settings.timing
        await asyncio.sleep(timing.of(timing.pull))
        self.node.store.save_pulled(request.reference, request.namespace)
        return machine_pb2.ImagePull()

    async def image_list(
        self, request: machine_pb2.ImageListRequest
    ) -> AsyncIterator[machine_pb2.ImageListResponse]:
        system = request.namespace != common_pb2.NS_CRI
        for name in _images(self.node, system=system):
            yield machine_pb2.ImageListResponse(
                name=name, digest=_digest(name), size=_IMAGE_SIZE, created_at=_booted(self.node)
            )


class ImageListApi(Api):
    """machine.ImageService: List."""

    SERVICE = "machine.ImageService"

    async def list(
        self, request: image_pb2.ImageServiceListRequest
    ) -> AsyncIterator[image_pb2.ImageServiceListResponse]:
        system = request.containerd.namespace != common_pb2.NS_CRI
        for name in _images(self.node, system=system):
            yield image_pb2.ImageServiceListResponse(
                name=name, digest=_digest(name), size=_IMAGE_SIZE, created_at=_booted(self.node)
            )


def _containers(node: Node, namespace: str) -> list[machine_pb2.ContainerInfo]:
    if namespace != KUBERNETES:
        return [
            machine_pb2.ContainerInfo(
                namespace=_SYSTEM,
                id=service.id,
                pid=service.pid,
                status="RUNNING",
                pod_id=service.id,
                name=service.id,
                internal_id=service.id,
            )
            for service in node.services.all()
            if service.state == "Running" and service.id in _OF_TALOS
        ]
    if node.in_maintenance:
        raise GRPCError(Status.UNAVAILABLE, _NO_RUNTIME)
    return list(pods.containers(node))


def _images(node: Node, *, system: bool) -> list[str]:
    """The images that its containers use, and those that clients pulled."""
    if node.config is None:
        return []
    if system:
        kubelet = str((node.config.machine.get("kubelet") or {}).get("image", ""))
        used = [kubelet] if kubelet else []
    else:
        images = list(static_pods(node).values())
        used = [*images, PAUSE] if images else []
    pulled = node.store.pulled().items()
    return [*used, *(name for name, space in pulled if (space != common_pb2.NS_CRI) == system)]


def _digest(name: str) -> str:
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def _booted(node: Node) -> Timestamp:
    stamp = Timestamp()
    stamp.FromSeconds(int(node.booted_at))
    return stamp

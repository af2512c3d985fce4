"""The simulated pods of a node: the static pods of a control plane, as its runtime lists them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from talops.lab.talos.machine.node import Node

KUBERNETES = "k8s.io"
PAUSE = "registry.k8s.io/pause:3.10.1"


def static_pods(node: Node) -> Mapping[str, str]:
    """The image of each component."""
    return {name: pod.image for name, pod in node.control_plane.serving.pods().items()}


def containers(node: Node) -> Iterator[machine_pb2.ContainerInfo]:
    """Each pod's sandbox, then its containers."""
    for number, (component, image) in enumerate(static_pods(node).items()):
        pod = f"kube-system/{component}-{node.hostname}"
        uid = hashlib.md5(pod.encode(), usedforsecurity=False).hexdigest()
        for name, of, status in (
            (pod, PAUSE, "SANDBOX_READY"),
            (component, image, "CONTAINER_RUNNING"),
        ):
            internal = hashlib.sha256(f"{node.boot_id}{pod}{name}".encode()).hexdigest()
            yield machine_pb2.ContainerInfo(
                namespace=KUBERNETES,
                id=pod if name == pod else f"{pod}:{component}:{internal[:12]}",
                image=of,
                pid=5000 + 10 * number + (name != pod),
                status=status,
                pod_id=pod,
                name=name,
                internal_id=internal,
                uid=uid,
            )

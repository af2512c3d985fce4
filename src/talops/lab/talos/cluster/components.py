"""The static pods that the config of a control plane asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.kubernetes.kubelet import StaticPod
from talops.lab.talos.resources.kinds import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.talos.machine.node import Node


def wanted(node: Node) -> Mapping[str, StaticPod]:
    """By component."""
    if node.config is None or not node.config.control_plane:
        return {}
    images = node.config.static_pod_images()
    return {name: StaticPod(image, config_version(node, name)) for name, image in images.items()}


def config_version(node: Node, component: str) -> str:
    found = node.resources.get((*COMPONENTS[component], component))
    return str(found.version if found is not None else 1)

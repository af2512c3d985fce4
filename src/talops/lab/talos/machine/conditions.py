"""Why a machine that boots or runs is not ready, with Talos' names and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.machine.node import Node

Unmet = tuple[str, str]
_REQUIRED = ("apid", "machined", "kubelet")
_REQUIRED_PLANE = ("etcd", "trustd")


def unmet(node: Node) -> tuple[Unmet, ...]:
    """Pairs of condition and reason."""
    found = {
        "time": "" if node.time_in_sync else "time is not synced",
        "network": "" if node.addresses else "waiting on: address, connectivity",
        "services": ", ".join(_services(node)),
        "nodeReady": _node_ready(node),
    }
    return tuple((name, reason) for name, reason in found.items() if reason)


def _services(node: Node) -> list[str]:
    running = {s.id: s for s in node.services.all() if s.state == "Running"}
    plane = node.config is not None and node.config.control_plane
    required = (*_REQUIRED, *(_REQUIRED_PLANE if plane else ()))
    return [
        *(f"{s.id} not healthy" for s in running.values() if s.healthy is False),
        *(f"{name} not running" for name in required if name not in running),
    ]


def _node_ready(node: Node) -> str:
    if node.config is None or node.registration.ready:
        return ""
    if not node.registration.renewed:
        return f'node "{node.hostname}" status is not available yet'
    return f'node "{node.hostname}" is not ready'

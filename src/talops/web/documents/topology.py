"""Endpoint, hosts, VMs and nodes, and what the failure of one of them stops. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from talops.app.analysis import analyze
from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp

if TYPE_CHECKING:
    from datetime import datetime

    from talops.app.analysis import Loss
    from talops.app.world.model import RunningNode, World
    from talops.inventory.model import Cluster, Node
    from talops.web.watching.panel import Panel

# Nodes without a Proxmox host are drawn together.
BARE_METAL = "bare metal"


def topology(cluster: Cluster, panel: Panel, failing: str, now: datetime) -> dict[str, Any]:
    """`failing`: `host NAME` or `node NAME`; anything else shows the cluster as it is."""
    world: World | None = panel.value
    analysis = analyze(cluster)
    losses = {f"{loss.kind} {loss.name}": loss for loss in analysis.losses}
    loss = losses.get(failing)
    names: dict[str, list[Node]] = {}
    for node in cluster.nodes:
        names.setdefault(node.vm.host if node.vm else BARE_METAL, []).append(node)
    lost = set(loss.nodes) if loss else set()
    return {
        "version": VERSION,
        "cluster": cluster.name,
        "endpoint": _endpoint(cluster, world, loss),
        "hosts": [_host(name, nodes, world, lost, loss) for name, nodes in names.items()],
        "failing": _failing(loss) if loss else None,
        "weaknesses": [asdict(each) for each in analysis.weaknesses],
        "spare": analysis.spare,
        "ages": [age_of(panel, now)],
        "time": stamp(now),
    }


def _endpoint(cluster: Cluster, world: World | None, loss: Loss | None) -> dict[str, Any]:
    holders = [each.name for each in world.nodes.values() if each.vip] if world else []
    return {
        "url": cluster.endpoint,
        "vip": cluster.vip is not None,
        "holders": holders,
        "lost": bool(loss and not loss.survives),
    }


def _host(
    name: str, nodes: list[Node], world: World | None, lost: set[str], loss: Loss | None
) -> dict[str, Any]:
    running = world.hosts.get(name) if world else None
    return {
        "name": name,
        "proxmox": name != BARE_METAL,
        "online": running.online if running else None,
        "cores": running.cores if running else None,
        "memory": running.memory if running else None,
        "used": running.used if running else None,
        "lost": bool(loss and loss.kind == "host" and loss.name == name),
        "nodes": [_node(node, world, lost) for node in nodes],
    }


def _node(node: Node, world: World | None, lost: set[str]) -> dict[str, Any]:
    running = world.nodes.get(node.name) if world else None
    return {
        "name": node.name,
        "role": node.role,
        "address": str(node.address),
        "vm": node.vm.vm_id if node.vm else None,
        "cores": node.vm.cores * node.vm.sockets if node.vm else None,
        "memory": node.vm.memory if node.vm else None,
        "gpus": list(node.gpus),
        "talos": (running.talos if running else "") or None,
        "kubelet": (running.kubelet if running else "") or None,
        "leader": bool(world and world.leader == node.name),
        "vip": bool(running and running.vip),
        "level": _level(node.name, running, world),
        "state": _state(node.name, running, world),
        "lost": node.name in lost,
    }


def _level(name: str, running: RunningNode | None, world: World | None) -> str:
    if running is None or world is None:
        return "unknown"
    if running.ready is False:
        return "bad"
    if f"node {name}" in world.unread or running.ready is None:
        return "unknown"
    return "notice" if running.cordoned or running.unmet else "good"


def _state(name: str, running: RunningNode | None, world: World | None) -> str:
    """In words: a colour alone says nothing to many people."""
    if running is None or world is None:
        return "not read yet"
    if f"node {name}" in world.unread:
        return "no answer" if running.ready is None else "Talos does not answer"
    if running.ready is False:
        return "not ready"
    if running.ready is None:
        return running.stage or "not in Kubernetes"
    return "cordoned" if running.cordoned else running.stage or "ready"


def _failing(loss: Loss) -> dict[str, Any]:
    return {**asdict(loss), "survives": loss.survives}

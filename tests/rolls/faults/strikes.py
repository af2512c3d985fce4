"""Faults of nodes and of what they need; each returns when it has its full effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.rolls.faults.world import BUDGET, struck

from talops.kube.objects import Ref

if TYPE_CHECKING:
    from tests.rolls.faults.world import Strike, World


def on(*names: str, **fields: Any) -> Strike:
    """The lab's fault on these nodes; `first`: the one that the roll has reached."""

    async def strike(world: World, first: str) -> None:
        world.faulty(*(first if name == "first" else name for name in names), **fields)

    return strike


def power_cut(*names: str) -> Strike:
    async def strike(world: World, first: str) -> None:
        await world.cut_power(*(first if name == "first" else name for name in names))

    return strike


def etcd_lost(*names: str) -> Strike:
    """Its process ends and does not start: as with a corrupt database, or without space."""

    async def strike(world: World, first: str) -> None:
        lost = [_other_plane(world, first) if name == "other" else name for name in names]
        world.faulty(*lost, etcd_lost=True)
        nodes = [world.cluster.lab.lab.node(name) for name in lost]
        await struck(lambda: not any(node.control_plane.etcd_running for node in nodes))

    return strike


def other_plane_off() -> Strike:
    async def strike(world: World, first: str) -> None:
        await world.cut_power(_other_plane(world, first))

    return strike


def api_lost() -> Strike:
    """No API server of the cluster starts, as with a config that it refuses (Talos issue 13445)."""

    async def strike(world: World, _: str) -> None:
        lab = world.cluster.lab.lab
        planes = [name for name in lab.machines if name.startswith("cp")]
        world.faulty(*planes, apiserver_lost=True)
        nodes = [lab.node(name) for name in planes]
        await struck(lambda: not any(node.control_plane.serving.ready for node in nodes))

    return strike


def network_lost(name: str) -> Strike:
    async def strike(world: World, first: str) -> None:
        own = first if name == "first" else name
        world.faulty(own, network_lost=True)
        node = world.cluster.lab.lab.node(own)
        await struck(lambda: node.apid.cut_off)

    return strike


async def held_pods(world: World, _: str) -> None:
    """A ready pod on each worker, and a budget that no eviction ever satisfies."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "default"},
    }
    budget = {
        "apiVersion": BUDGET.api_version,
        "kind": BUDGET.kind,
        "metadata": {"name": BUDGET.name, "namespace": BUDGET.namespace},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "held"}}},
    }
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    async with world.cluster.kube() as kube:
        await kube.apply(account)
        await kube.apply(budget)
        for node in ("w-1", "w-2"):
            pod = _pod(f"held-{node}", node)
            await kube.apply(pod)
            await kube.merge(Ref.of(pod), {"status": ready}, subresource="status")


def _pod(name: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "held"}},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
        },
    }


def _other_plane(world: World, first: str) -> str:
    planes = [name for name in world.cluster.lab.lab.machines if name.startswith("cp")]
    return next(name for name in planes if name != first)

"""The probe itself: a probe that sees nothing would let every roll pass."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.harness import until
from tests.lab.workload.probe import Probe

from talops.errors import UnreachableError
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Object = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


class Api:
    """An API server with lists that a test fills, and a watch that a test feeds."""

    def __init__(self) -> None:
        self.items: dict[str, list[Object]] = {}
        self.events: dict[str, asyncio.Queue[Object]] = {}

    async def get(self, path: str) -> Object:
        return {"metadata": {"resourceVersion": "1"}, "items": self.items.get(path, [])}

    async def watch(self, path: str, _: str) -> AsyncIterator[Object]:
        queue = self.events.setdefault(path, asyncio.Queue())
        while True:
            yield await queue.get()

    def change(self, path: str, obj: Object, kind: str = "MODIFIED") -> None:
        meta = obj["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        self.events[path].put_nowait({"type": kind, "object": obj})


class Etcd:
    def __init__(self, *names: str) -> None:
        self.client = self
        self.names = names

    async def members(self, *, local: bool) -> list[Any]:
        if not self.names:
            raise UnreachableError("etcd: connection refused")
        return [SimpleNamespace(name=name, id=1, learner=False) for name in self.names]


def obj(name: str, spec: Object | None = None, **more: Any) -> Object:
    meta = {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1", **more}
    return {"metadata": meta, "spec": spec or {}, "status": dict(READY)}


def machine(name: str, etcd: Etcd | None = None) -> Any:
    config = SimpleNamespace(control_plane=etcd is not None, cluster_id="c")
    return SimpleNamespace(
        config=config,
        hostname=name,
        machine=SimpleNamespace(name=name),
        boot_id="1",
        reachable=True,
        status=SimpleNamespace(stage=Stage.RUNNING),
        control_plane=SimpleNamespace(etcd=etcd, etcd_running=etcd is not None),
    )


class World:
    """Three control planes, two workers, two pods with a budget of one."""

    def __init__(self) -> None:
        self.api = Api()
        names = ("cp-1", "cp-2", "cp-3")
        self.machines = {name: machine(name, Etcd(*names)) for name in names}
        self.machines |= {name: machine(name) for name in ("w-1", "w-2")}
        plane = {"labels": {"node-role.kubernetes.io/control-plane": ""}}
        self.nodes = {name: obj(name, **(plane if name in names else {})) for name in self.machines}
        self.pods = [obj(name, labels={"app": "web"}) for name in ("web-1", "web-2")]
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        self.api.items = {
            "/api/v1/pods": self.pods,
            "/api/v1/nodes": list(self.nodes.values()),
            "/apis/policy/v1/poddisruptionbudgets": [obj("web", spec)],
        }
        fabric = SimpleNamespace(
            kube_api=lambda _: self.api, nodes=lambda: list(self.machines.values())
        )
        self.host: Any = SimpleNamespace(fabric=fabric)

    async def settled(self, probe: Probe) -> None:
        """Two more samples: what was changed before is seen."""
        before = probe.report.samples

        async def sampled() -> bool:
            return probe.report.samples >= before + 2

        await until(sampled, 10.0)


async def test_a_quiet_cluster() -> None:
    """One pod less and one worker cordoned and back is what a roll does."""
    world = World()
    async with Probe(world.host, "c") as probe:
        world.nodes["w-1"]["spec"]["unschedulable"] = True
        world.api.change("/api/v1/nodes", world.nodes["w-1"])
        world.api.change("/api/v1/pods", world.pods[0], "DELETED")
        await world.settled(probe)
        world.nodes["w-1"]["spec"] = {}
        world.machines["w-1"].boot_id = "2"
        world.api.change("/api/v1/nodes", world.nodes["w-1"])
        await world.settled(probe)
    probe.report.require()
    assert probe.report.most_workers_away == 1
    assert probe.report.away == {"w-1": 1}
    assert probe.report.restarts == {"w-1": 1}


async def test_a_violated_budget() -> None:
    """Between two samples, too; a pod that is being deleted does not count."""
    world = World()
    async with Probe(world.host, "c") as probe:
        world.api.change("/api/v1/pods", world.pods[0], "DELETED")
        world.pods[1]["metadata"]["deletionTimestamp"] = "now"
        world.api.change("/api/v1/pods", world.pods[1])
        again = obj("web-3", labels={"app": "web"})
        world.api.change("/api/v1/pods", again, "ADDED")
        await world.settled(probe)
    assert len(probe.report.incidents) == 1
    assert "budget shop/web" in probe.report.incidents[0]
    assert probe.report.incidents[0].endswith("0 ready, 1 required")


async def test_a_lost_watch() -> None:
    """Pods that were replaced meanwhile were never missing: the new list counts as a whole."""
    world = World()
    pods = "/api/v1/pods"
    async with Probe(world.host, "c") as probe:
        await world.settled(probe)
        world.api.items[pods] = [obj(name, labels={"app": "web"}) for name in ("web-3", "web-4")]
        world.api.events[pods].put_nowait({"type": "ERROR", "object": {}})
        await until(lambda: _knows(probe, "web-3"), 10.0)
        await world.settled(probe)
    assert not probe.report.incidents


async def _knows(probe: Probe, pod: str) -> bool:
    return pod in probe._pods.objects


async def test_a_lost_majority() -> None:
    """Two of three members down; the third one still lists all three."""
    world = World()
    async with Probe(world.host, "c") as probe:
        for name in ("cp-2", "cp-3"):
            world.machines[name].reachable = False
        await world.settled(probe)
    assert "1 of 3 members run: ['cp-1']" in probe.report.incidents[0]
    assert probe.report.most_planes_away == 2
    with pytest.raises(AssertionError, match="members run"):
        probe.report.require()


async def test_too_many_away_and_left_cordoned() -> None:
    """A node that is off counts as well as one that is cordoned."""
    world = World()
    async with Probe(world.host, "c") as probe:
        world.nodes["w-1"]["spec"]["unschedulable"] = True
        world.api.change("/api/v1/nodes", world.nodes["w-1"])
        world.machines["w-2"].status = SimpleNamespace(stage=Stage.REBOOTING)
        await world.settled(probe)
    with pytest.raises(AssertionError, match="2 workers away"):
        probe.report.require()
    with pytest.raises(AssertionError, match="left cordoned"):
        probe.report.require(max_unavailable=2)

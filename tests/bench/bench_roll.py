"""A roll of 5 + 20 nodes beside its critical path: the boots and drains that the lab simulates.

Boots are seen from inside the lab: from the moment at which a machine leaves service until its Node
is Ready again. A drain lasts from its first eviction until the last pod has left the node. All else
is what talops adds: gates, etcd, cordon, and the time until it notices that something has ended.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.figure import Figure
from tests.lab.talos.harness import until
from tests.lab.talos.site import NodeSite
from tests.lab.workload.cluster import Cluster, is_ready
from tests.lab.workload.manifests import deploy, shop
from tests.rolls.conftest import Rolling

from talops.events import PartProgress
from talops.kube.drain import DrainOptions, plan_drain
from talops.lab.kubernetes.watch import Collection
from talops.lab.talos.machine.settings import Timing
from talops.lab.talos.machine.stages import Stage
from talops.machineconfig.secrets import bundle as bundles
from talops.pipeline.stage import Reporter
from talops.rolls.options import RollOptions
from talops.rolls.order import Width
from talops.rolls.roller import Roller
from talops.rolls.turn import Step
from talops.site.site import Limits
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.events import Event
    from talops.lab.talos.cluster.fabric import Fabric

PLANES, WORKERS, WIDTH = 5, 20, 4
# As on modest hardware; leases have time, because everything shares this machine.
TIMING = Timing(scale=1.0, grace=60.0, lease=5.0)
_EVERY = DrainOptions(delete_unmanaged=True)
LIMITS = Limits(boot=900.0, install=900.0, etcd=900.0, kubernetes=900.0)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        yield from asyncio.run(_measure(Path(scratch)))


async def _measure(folder: Path) -> list[Figure]:
    async def find(name: str) -> Path:
        return (await Toolchain(os.environ).ensure(name)).path

    bundle = bundles.generate(datetime.now(UTC))
    lab = NodeSite(folder, find, bundle, workloads=True, timing=TIMING, apiservers="leader-only")
    names = [f"cp-{n + 1}" for n in range(PLANES)] + [f"w-{n + 1}" for n in range(WORKERS)]
    try:
        await lab.start(*names)
        for name in names:
            await lab.lab.listening(name)
        up = await lab.run("kubeconfig", LIMITS)
        assert up.error is None, up.error
        await lab.lab.ready(*names)
        api = lab.lab.host.fabric.kube_api(bundle.cluster_id)
        assert api is not None
        await deploy(api, *shop(WORKERS))
        cluster = Cluster(api)

        async def carried() -> bool:
            return await cluster.ready("web", WORKERS) and await cluster.ready("db", 3)

        await until(carried, 300.0)
        async with aclosing(_watched(lab, bundle.cluster_id)) as watched:
            clock = await anext(watched)
            seconds = await _roll(Rolling(lab), names, clock)
    finally:
        await lab.lab.close()
    critical = clock.critical()
    return [
        Figure(f"roll: {PLANES} + {WORKERS}, {WIDTH} workers at a time", seconds, "s"),
        Figure("roll: boots and drains on the critical path", critical, "s"),
        Figure("roll: against its critical path", seconds / critical, "x", 1.15),
    ]


async def _roll(cluster: Rolling, names: list[str], clock: Clock) -> float:
    site = cluster.site
    options = RollOptions(max_unavailable=Width(WIDTH), drain_timeout=600.0)
    # As `up` polls, not as tests do.
    roller = Roller(replace(site, limits=LIMITS), cluster.secrets(site), options)
    turns = [cluster.reboot(name) for name in names]
    started = time.monotonic()
    await roller.roll(turns, Reporter("roll", clock.tell))
    return time.monotonic() - started


@dataclass
class Clock:
    """When each node was drained and booted; `turns`: when its turn began and ended."""

    fabric: Fabric
    pods: Collection
    nodes: Collection
    drains: dict[str, list[float]] = field(default_factory=dict)
    boots: dict[str, list[float]] = field(default_factory=dict)
    turns: dict[str, list[float]] = field(default_factory=dict)

    def tell(self, event: Event) -> None:
        if not isinstance(event, PartProgress):
            return
        now = time.monotonic()
        if event.doing == Step.DRAIN and event.phase == "start":
            self.drains[event.part] = [now, now]
        self.turns.setdefault(event.part, [now, now])[1] = now

    async def follow(self) -> None:
        while True:
            self._look(time.monotonic())
            await asyncio.sleep(0.02)

    def _look(self, now: float) -> None:
        ready = {n["metadata"]["name"] for n in self.nodes.objects.values() if is_ready(n)}
        moving = {p["spec"].get("nodeName") for p in plan_drain(self._pods(), _EVERY).evict}
        for node in self.fabric.nodes():
            name = node.machine.name
            serves = node.status.stage is Stage.RUNNING and node.status.ready and name in ready
            if name in self.turns and not serves:
                self.boots.setdefault(name, [now, now])[1] = now
            if name in self.drains and name in moving and name not in self.boots:
                self.drains[name][1] = now

    def _pods(self) -> list[Any]:
        return list(self.pods.objects.values())

    def critical(self) -> float:
        """Control planes one after the other, then the longest of the lanes of workers."""
        own = {n: _long(self.drains.get(n)) + _long(self.boots.get(n)) for n in self.turns}
        planes = [name for name in own if name.startswith("cp")]
        lanes: list[tuple[float, float]] = []  # (end of its last turn, boots and drains)
        workers = sorted(own.keys() - set(planes), key=lambda name: self.turns[name][0])
        for name in workers:
            start, end = self.turns[name]
            free = [lane for lane in lanes if lane[0] <= start]
            lane = max(free, default=(0.0, 0.0))
            if free:
                lanes.remove(lane)
            lanes.append((end, lane[1] + own[name]))
        assert len(lanes) <= WIDTH, lanes
        assert len(self.boots) == PLANES + WORKERS, self.boots.keys()
        return sum(own[name] for name in planes) + max(length for _, length in lanes)


async def _watched(lab: NodeSite, cluster: str) -> Any:
    fabric = lab.lab.host.fabric
    api = fabric.kube_api(cluster)
    assert api is not None
    pods = Collection(api, "/api/v1/pods", lambda *_: None)
    nodes = Collection(api, "/api/v1/nodes", lambda *_: None)
    clock = Clock(fabric, pods, nodes)
    tasks = [asyncio.create_task(each.follow()) for each in (pods, nodes, clock)]
    try:

        async def listed() -> bool:
            return pods.listed and nodes.listed

        await until(listed)
        yield clock
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _long(span: list[float] | None) -> float:
    return span[1] - span[0] if span else 0.0

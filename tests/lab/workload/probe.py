"""Watches a lab while something rolls through it, and reports what must not have happened.

Pods, budgets and nodes are watched, so that every state between two samples counts; etcd's members
and the machines are sampled from inside the lab.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tests.lab.workload.cluster import is_ready

from talops.errors import TalopsError
from talops.lab.kubernetes.watch import Collection
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from types import TracebackType

    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.talos.machine.host import TalosHost
    from talops.lab.talos.machine.node import Node

Object = dict[str, Any]
_INTERVAL = 0.2
_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"


@dataclass
class Report:
    """`incidents` are lost majorities and violated budgets, with the second they began."""

    samples: int = 0
    incidents: list[str] = field(default_factory=list)
    most_workers_away: int = 0
    most_planes_away: int = 0
    away: Counter[str] = field(default_factory=Counter)  # how often each node went away
    restarts: Counter[str] = field(default_factory=Counter)  # how often each machine booted again
    cordoned: tuple[str, ...] = ()

    def require(self, *, max_unavailable: int = 1) -> None:
        """What every roll must hold."""
        assert self.samples, "the probe has seen nothing"
        assert not self.incidents, self.incidents
        assert self.most_planes_away <= 1, f"{self.most_planes_away} control planes away at once"
        assert self.most_workers_away <= max_unavailable, f"{self.most_workers_away} workers away"
        assert not self.cordoned, f"left cordoned: {self.cordoned}"


class Probe:
    """Of one cluster; use it as an async context manager, then read `report`."""

    def __init__(self, host: TalosHost, cluster_id: str) -> None:
        api = host.fabric.kube_api(cluster_id)
        assert api is not None, "the cluster has no API server yet"
        self._host = host
        self._id = cluster_id
        self._begun = time.monotonic()
        self.report = Report()
        self._lasting: set[str] = set()
        self._met: set[str] = set()  # budgets that were kept once: only these can be violated
        self._absent: set[str] = set()
        self._boots: dict[str, str] = {}
        self._pods = self._follow(api, "/api/v1/pods")
        self._budgets = self._follow(api, _BUDGETS)
        self._nodes = self._follow(api, "/api/v1/nodes")
        self._tasks: list[asyncio.Task[None]] = []

    def _follow(self, api: KubeApi, path: str) -> Collection:
        return Collection(api, path, lambda *_: self._look())

    async def __aenter__(self) -> Self:
        """Returns after the first look at everything."""
        found = (self._pods, self._budgets, self._nodes)
        self._tasks = [asyncio.create_task(each.follow()) for each in found]
        while not all(each.listed for each in found):  # noqa: ASYNC110  (three of them)
            await asyncio.sleep(_INTERVAL / 4)
        await self._sample()
        self._tasks.append(asyncio.create_task(self._forever()))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.report.cordoned = tuple(sorted(self._cordoned()))

    async def _forever(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            await self._sample()

    async def _sample(self) -> None:
        self.report.samples += 1
        lost = await self._majority()
        self._incident("etcd", lost)
        self._look()

    async def _majority(self) -> str:
        """Empty, or how few of etcd's voters run. Members are those of whichever one answers."""
        planes = [n for n in self._machines() if n.config is not None and n.config.control_plane]
        running = {n.hostname for n in planes if n.reachable and n.control_plane.etcd_running}
        for node in planes:
            etcd = node.control_plane.etcd
            if node.hostname not in running or etcd is None:
                continue
            try:
                members = await etcd.client.members(local=True)
            except TalopsError:
                continue
            voters = {m.name or str(m.id) for m in members if not m.learner}
            alive = voters & running
            if len(alive) * 2 > len(voters):
                return ""
            return f"{len(alive)} of {len(voters)} members run: {sorted(alive)}"
        return "no member answers"

    def _machines(self) -> list[Node]:
        """Also those that boot right now and have no config in memory."""
        return self._host.fabric.nodes()

    def _look(self) -> None:
        for budget in self._budgets.objects.values():
            self._judge(budget)
        self._count_away()

    def _judge(self, budget: Object) -> None:
        name = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
        wanted = budget["spec"]["selector"].get("matchLabels") or {}
        own = [
            pod
            for pod in self._pods.objects.values()
            if pod["metadata"]["namespace"] == budget["metadata"]["namespace"]
            and wanted.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        ready = sum(is_ready(p) and "deletionTimestamp" not in p["metadata"] for p in own)
        least = _least(budget)
        if ready >= least:
            self._met.add(name)
        if name in self._met:
            short = f"{ready} ready, {least} required" if ready < least else ""
            self._incident(f"budget {name}", short)

    def _incident(self, what: str, reason: str) -> None:
        """Counted once, however long it lasts."""
        if reason and what not in self._lasting:
            at = time.monotonic() - self._begun
            self.report.incidents.append(f"{what} after {at:.1f} s: {reason}")
        (self._lasting.add if reason else self._lasting.discard)(what)

    def _cordoned(self) -> set[str]:
        found = self._nodes.objects.values()
        return {n["metadata"]["name"] for n in found if n["spec"].get("unschedulable")}

    def _count_away(self) -> None:
        """Cordoned, not ready, or not running: each is away for its pods."""
        away = self._cordoned()
        nodes = {n["metadata"]["name"]: n for n in self._nodes.objects.values()}
        away |= {name for name, node in nodes.items() if not is_ready(node)}
        for machine in self._machines():
            name = machine.machine.name
            known = self._boots.setdefault(name, machine.boot_id)
            # A machine that was switched on a moment ago has no boot yet.
            if machine.boot_id not in {known, ""}:
                self._boots[name] = machine.boot_id
                self.report.restarts[name] += 1
            if machine.status.stage is not Stage.RUNNING or not machine.reachable:
                away |= {name} & nodes.keys()
        for name in away - self._absent:
            self.report.away[name] += 1
        self._absent = away
        planes = {name for name in away if _is_plane(nodes[name])} if nodes else set()
        self.report.most_planes_away = max(self.report.most_planes_away, len(planes))
        workers = len(away - planes)
        self.report.most_workers_away = max(self.report.most_workers_away, workers)


def _least(budget: Object) -> int:
    """Pods that must stay ready; percentages are of what the controller manager expects."""
    spec, expected = budget["spec"], budget.get("status", {}).get("expectedPods", 0)
    if "minAvailable" in spec:
        return _share(spec["minAvailable"], expected)
    return int(expected) - _share(spec.get("maxUnavailable", 0), expected)


def _share(value: Any, of: int) -> int:
    """Rounded up, as the disruption controller does."""
    if isinstance(value, str) and value.endswith("%"):
        return math.ceil(int(value.removesuffix("%")) * of / 100)
    return int(value)


def _is_plane(node: Object) -> bool:
    return "node-role.kubernetes.io/control-plane" in (node["metadata"].get("labels") or {})

"""Conditions that must hold before the first node of a roll, between nodes and after the last."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from talops.errors import TalopsError
from talops.kube.conditions import condition
from talops.kube.discovery import UnknownKindError
from talops.site.etcd_guard import look_at_etcd
from talops.site.fleet import AT_ONCE
from talops.talos.kinds import MACHINE_ID, MACHINE_STATUS
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.inventory.model import Node
    from talops.kube.objects import Object
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet
    from talops.waiting import Waiting

# What tells whether another node may be taken out of service while one already is.
STANDING = frozenset({"etcd", "nodes"})
FLUX = (
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
)


@dataclass(frozen=True)
class Absence:
    """`away`: out of service by this roll. `sick`: not healthy before it, and not rolled yet."""

    away: frozenset[str] = frozenset()
    sick: frozenset[str] = frozenset()

    @property
    def excused(self) -> frozenset[str]:
        return self.away | self.sick


class Gate(Protocol):
    """A named condition. `remember` is called once, before the first node."""

    name: str

    async def remember(self) -> None:
        """Keep what was wrong before the roll: it is not the fault of the roll."""
        return

    async def closed(self, absence: Absence) -> str:
        """Why no other node may be taken out of service; empty if one may."""
        ...


class EtcdGate(Gate):
    name = "etcd"

    def __init__(self, fleet: Fleet, planes: Sequence[Node], allowed: frozenset[str]) -> None:
        self._fleet = fleet
        self._planes = planes
        self._allowed = allowed

    async def closed(self, absence: Absence) -> str:
        found = await look_at_etcd(self._fleet, self._planes)
        if not found.members:
            return f"etcd cannot be asked: {found.why(found.unread)}" if found.founded else ""
        sick = found.sick - absence.excused - self._allowed
        return f"not healthy: {found.why(sick)}" if sick else ""


class NodesGate(Gate):
    """All nodes of the inventory that Kubernetes knows are Ready, and their machines run: a Node
    stays Ready for most of a minute after its machine has stopped.
    """

    name = "nodes"

    def __init__(self, kube: KubeAccess, fleet: Fleet, nodes: Sequence[Node]) -> None:
        self._kube = kube
        self._fleet = fleet
        self._nodes = nodes
        self._asking = asyncio.Semaphore(AT_ONCE)

    async def closed(self, absence: Absence) -> str:
        known = await self._kube.nodes()
        asked = [n for n in self._nodes if n.name in known and n.name not in absence.excused]
        reasons = await asyncio.gather(*(self._wrong(n, known[n.name]) for n in asked))
        wrong = [f"{n.name} ({why})" for n, why in zip(asked, reasons, strict=True) if why]
        return f"not Ready: {', '.join(wrong)}" if wrong else ""

    async def _wrong(self, node: Node, known: Object) -> str:
        if reason := condition(known, "Ready"):
            return reason
        async with self._asking, self._fleet.talos(node) as talos:
            try:
                status = await talos.resources.find(MACHINE_STATUS, MACHINE_ID)
            except TalopsError as error:
                return f"its machine does not answer: {error.what}"
        stage = status.stage if status else "not known"
        return "" if stage == "running" else f"the stage of its machine is {stage}"


class PodsGate(Gate):
    """No workload has more pods that wait for a node than before the roll."""

    name = "pods"

    def __init__(self, kube: KubeAccess) -> None:
        self._kube = kube
        self._before: Counter[str] = Counter()

    async def remember(self) -> None:
        self._before = await self._waiting()

    async def closed(self, absence: Absence) -> str:
        more = await self._waiting() - self._before
        if not more or absence.away:
            return ""  # while a node is away, its pods may have to wait for it
        return f"pods wait for a node: {', '.join(sorted(more))}"

    async def _waiting(self) -> Counter[str]:
        async with self._kube.open() as client:
            pods = await client.list_all("v1", "Pod", fields="status.phase=Pending")
        return Counter(workload_of(pod) for pod in pods if not pod["spec"].get("nodeName"))


class FluxGate(Gate):
    """What Flux had reconciled before the roll is reconciled still."""

    name = "flux"

    def __init__(self, kube: KubeAccess) -> None:
        self._kube = kube
        self._before: frozenset[str] = frozenset()

    async def remember(self) -> None:
        self._before = frozenset(await self._broken())

    async def closed(self, absence: Absence) -> str:
        new = sorted(set(await self._broken()) - self._before)
        return f"not ready: {', '.join(new)}" if new and not absence.away else ""

    async def _broken(self) -> list[str]:
        found = []
        async with self._kube.open() as client:
            for version, kind in FLUX:
                try:
                    listed = await client.list_all(version, kind)
                except UnknownKindError:
                    continue  # Flux is not installed
                found += [_name(obj) for obj in listed if _fails(obj)]
        return found


class Gates:
    """All gates of a roll; `pass_all` returns when none is closed."""

    def __init__(
        self,
        gates: Sequence[Gate],
        limit: float,
        interval: float,
    ) -> None:
        self._gates = gates
        self._limit = limit
        self._interval = interval
        self._remembering = asyncio.Lock()
        self._remembered: set[str] = set()

    async def pass_all(
        self,
        absence: Absence,
        report: Callable[[Waiting], None],
        without: frozenset[str] = frozenset(),
    ) -> None:
        """All but those whose names are in `without`."""
        asked = [gate for gate in self._gates if gate.name not in without]

        async def probe() -> Ready[None] | NotYet:
            reasons = await asyncio.gather(*(self._ask(gate, absence) for gate in asked))
            closed = [reason for reason in reasons if reason]
            return NotYet("; ".join(closed)) if closed else Ready(None)

        await wait_for(
            "the gates of the roll",
            probe,
            timeout=self._limit,
            interval=self._interval,
            report=report,
            hint="correct what the gate names, then: talops up",
        )

    async def still(self, absence: Absence, report: Callable[[Waiting], None]) -> None:
        """The rest of the cluster, once more: moving the pods of a node may have taken long."""
        await self.pass_all(absence, report, frozenset(g.name for g in self._gates) - STANDING)

    async def closed(self, absence: Absence) -> frozenset[str]:
        """Names of the gates that are closed now, or that cannot be asked."""
        reasons = await asyncio.gather(*(self._ask(gate, absence) for gate in self._gates))
        found = zip(self._gates, reasons, strict=True)
        return frozenset(gate.name for gate, reason in found if reason)

    async def _ask(self, gate: Gate, absence: Absence) -> str:
        """A gate that cannot be asked is closed: no answer is not a yes."""
        try:
            async with self._remembering:
                if gate.name not in self._remembered:
                    await gate.remember()
                    self._remembered.add(gate.name)
            reason = await gate.closed(absence)
        except TalopsError as error:
            reason = str(error)
        return f"{gate.name}: {reason}" if reason else ""


def workload_of(pod: Object) -> str:
    """The pod's controller; pods of one controller have other names after each eviction."""
    meta = pod["metadata"]
    owner = next((o for o in meta.get("ownerReferences") or [] if o.get("controller")), None)
    return f"{meta['namespace']}/{owner['kind']}/{owner['name']}" if owner else _name(pod)


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{obj['kind']} {meta['namespace']}/{meta['name']}"


def _fails(obj: Object) -> bool:
    suspended = (obj.get("spec") or {}).get("suspend")
    return not suspended and bool(condition(obj, "Ready"))

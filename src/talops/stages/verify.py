"""Stage `verify`: the cluster is what the inventory says, seen from Talos and from Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.pipeline.stage import Absent
from talops.stages.fleet import Fleet
from talops.talos.kinds import MEMBERS
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from talops.inventory.model import Node
    from talops.kube.objects import Object
    from talops.pipeline.stage import Change, Reporter
    from talops.stages.bundle import SecretsFile
    from talops.stages.site import Site

    Probe = Callable[[], Awaitable[Ready[None] | NotYet]]


@dataclass(frozen=True)
class Facts:
    """Nothing is decided here: verification is all in `verify`."""


class Verify:
    name = "verify"
    independent = False

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report

    async def observe(self) -> Facts | Absent:
        if load(self._site.kubeconfig) is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        return Facts()

    def plan(self, facts: Facts) -> list[Change]:  # noqa: ARG002  (verification changes nothing)
        return []

    async def apply(self, change: Change) -> None:
        raise TalopsError(f"verification changes nothing, and was asked to {change}")

    async def verify(self) -> None:
        await self._wait("Talos knows every node", self._members)
        await self._wait("every node is Ready", self._nodes)

    async def _wait(self, name: str, probe: Probe) -> None:
        await wait_for(
            name,
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint="talops talos health",
            report=self._report.waiting,
        )

    async def _members(self) -> Ready[None] | NotYet:
        fleet = Fleet(await self._secrets.require())
        async with fleet.talos(self._site.cluster.control_planes[0]) as talos:
            seen = {member.hostname for member in await talos.resources.all(MEMBERS)}
        wanted = set(self._site.cluster.node_names)
        if missing := sorted(wanted - seen):
            return NotYet(f"missing: {', '.join(missing)}")
        if foreign := sorted(seen - wanted):
            raise TalopsError(
                f"nodes that the inventory does not know: {', '.join(foreign)}",
                hint="add them to nodes.yaml, or reset them: talops talos reset --nodes …",
            )
        return Ready(None)

    async def _nodes(self) -> Ready[None] | NotYet:
        config = load(self._site.kubeconfig, self._site.cluster.name)
        assert config
        async with KubeClient(config) as kube:
            found = {o["metadata"]["name"]: o for o in await kube.list_all("v1", "Node")}
        for node in self._site.cluster.nodes:
            state = _ready(found.get(node.name))
            self._report.node(node.name, kubernetes="Ready" if state == "" else "NotReady")
        wrong = [w for node in self._site.cluster.nodes for w in self._differences(node, found)]
        return NotYet("; ".join(wrong)) if wrong else Ready(None)

    def _differences(self, node: Node, found: dict[str, Object]) -> Sequence[str]:
        seen = found.get(node.name)
        if seen is None:
            return [f"{node.name} is not in Kubernetes"]
        wrong = [f"{node.name}: {reason}"] if (reason := _ready(seen)) else []
        labels = seen["metadata"].get("labels", {})
        missing = [key for key, value in node.labels.items() if labels.get(key) != value]
        wrong += [f"{node.name}: label {key} is missing" for key in missing]
        version = seen["status"]["nodeInfo"]["kubeletVersion"]
        if version != self._site.cluster.kubernetes_version:
            wrong.append(f"{node.name}: kubelet {version}")
        return wrong


def _ready(node: Object | None) -> str:
    """Why a node is not Ready; empty: it is."""
    if node is None:
        return "not registered"
    for condition in node["status"].get("conditions", []):
        if condition["type"] == "Ready":
            return "" if condition["status"] == "True" else str(condition.get("message", "?"))
    return "no Ready condition yet"

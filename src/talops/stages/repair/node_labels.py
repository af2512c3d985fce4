"""Stage `node-marks`: labels and taints that were removed from a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.checks.after.nodes import wrong_labels, wrong_taints
from talops.errors import TalopsError
from talops.kube.objects import Ref
from talops.pipeline.stage import Change, Stage

if TYPE_CHECKING:
    from talops.kube.objects import Object
    from talops.pipeline.stage import Seen
    from talops.site.connections import Connections


@dataclass(frozen=True)
class LabelFacts:
    nodes: dict[str, Object]


@dataclass(frozen=True)
class LabelChange(Change):
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()


class NodeLabels(Stage[LabelFacts, LabelChange]):
    """Set the labels and taints that were removed from a node."""

    name = "node-marks"
    independent = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def observe(self) -> LabelFacts:
        return LabelFacts(await self._connections.kube_nodes())

    def plan(self, facts: LabelFacts) -> list[LabelChange]:
        cluster = self._connections.site.cluster
        found = []
        for node in cluster.nodes:
            seen = facts.nodes.get(node.name)
            if seen is None:
                continue
            labels = tuple((key, node.labels[key]) for key in wrong_labels(node, seen))
            taints = tuple(wrong_taints(cluster, node, seen)[0])
            if labels or taints:
                detail = ", ".join([*(key for key, _ in labels), *taints])
                found.append(LabelChange("mark", node.name, detail, node.name, labels, taints))
        return found

    async def apply(self, change: LabelChange) -> None:
        ref = Ref("v1", "Node", change.target)
        async with self._connections.kube() as kube:
            seen = await kube.get(ref)
            if seen is None:
                raise TalopsError(f"node {change.target} does not exist in Kubernetes any more")
            present = (seen.get("spec") or {}).get("taints") or []
            body: Object = {"metadata": {"labels": dict(change.labels)}}
            if change.taints:
                body["spec"] = {"taints": [*present, *map(taint_of, change.taints)]}
            await kube.merge(ref, body)

    async def verify(self, _: Seen[LabelFacts, LabelChange], /) -> None:
        left = self.plan(await self.observe())
        if left:
            raise TalopsError(f"still differs from the inventory: {left[0]}", where=left[0].target)


def taint_of(text: str) -> Object:
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}

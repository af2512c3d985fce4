"""Inventory ↔ Kubernetes: its nodes, their labels and taints, and the status that Flux reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.model import SET_VERSION, UPGRADES, AreaDrift, Difference, absent
from talops.checks.after import flux
from talops.checks.after.nodes import wrong_labels, wrong_taints
from talops.delivery.objects import ObjectChange
from talops.kube.conditions import condition
from talops.kube.kubeconfig import load
from talops.machineconfig.kubernetes_images import numbers
from talops.pipeline.checks import Verdict
from talops.pipeline.stage import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.pipeline.stage import AnyStage, Change
    from talops.site.connections import Connections

LAYER = "kubernetes"
LABEL, TAINT = "label ", "taint "


async def look(connections: Connections, stages: Sequence[AnyStage] = ()) -> AreaDrift:
    """`stages` deploy objects of their own: every object that they would apply differs."""
    if load(connections.site.kubeconfig) is None:
        return absent(LAYER, Absent("kubeconfig", "there is no kubeconfig yet"))
    found = judge(connections.site.cluster, await connections.kube_nodes())
    if connections.site.cluster.repository:
        found += [d for f in await flux.look(connections) for d in _flux(f)]
    for stage in stages:
        seen = await stage.observe()
        if isinstance(seen, Absent):
            return absent(LAYER, seen)
        found += [_planned(stage.name, change) for change in stage.plan(seen)]
    return AreaDrift(LAYER, tuple(found))


def _planned(stage: str, change: Change) -> Difference:
    actual = change.detail or f"would {change.action}"
    command = f"talops up --only {stage}"
    safe = isinstance(change, ObjectChange) and change.gentle
    return Difference(LAYER, change.target, stage, "applied", actual, "online", command, safe)


def judge(cluster: Cluster, seen: Mapping[str, Object]) -> list[Difference]:
    found = [d for node in cluster.nodes for d in _node(cluster, node, seen.get(node.name))]
    found += [
        Difference(LAYER, name, "exists", "no", "yes", "removes it", f"kubectl delete node {name}")
        for name in seen
        if name not in cluster.node_names
    ]
    return found


def _node(cluster: Cluster, node: Node, seen: Object | None) -> list[Difference]:
    row = (LAYER, node.name)
    if seen is None:
        return [Difference(*row, "exists", "yes", "no", "restarts", "talops up")]
    found = []
    if reason := condition(seen, "Ready"):
        look_at = f"kubectl describe node {node.name}"
        found.append(Difference(*row, "Ready", "True", reason, "online", look_at))
    version = str(((seen.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", "?"))
    if version != cluster.kubernetes_version:
        wanted = cluster.kubernetes_version
        newer = numbers(version) > numbers(wanted)
        command = SET_VERSION.format(version) if newer else "talops up"
        found.append(Difference(*row, "kubelet", wanted, version, UPGRADES, command))
    return found + _marks(cluster, node, seen)


def _marks(cluster: Cluster, node: Node, seen: Object) -> list[Difference]:
    row = (LAYER, node.name)
    found = []
    for key, have in wrong_labels(node, seen).items():
        wanted = node.labels[key]
        command = f"kubectl label node {node.name} {key}={wanted} --overwrite"
        found.append(
            Difference(
                *row, f"{LABEL}{key}", wanted, have or "nothing", "online", command, safe=True
            )
        )
    lacking, extra = wrong_taints(cluster, node, seen)
    for taint in lacking:
        command = f"kubectl taint node {node.name} {taint} --overwrite"
        found.append(
            Difference(*row, f"{TAINT}{taint}", "present", "absent", "online", command, safe=True)
        )
    for taint in extra:
        command = f"kubectl taint node {node.name} {taint}-"
        found.append(Difference(*row, f"{TAINT}{taint}", "absent", "present", "online", command))
    if (seen.get("spec") or {}).get("unschedulable"):
        command = f"kubectl uncordon {node.name}"
        found.append(Difference(*row, "schedulable", "yes", "no", "online", command))
    return found


def _flux(finding: Finding) -> list[Difference]:
    if finding.verdict not in {Verdict.FAILED, Verdict.WARNING}:
        return []
    target, command = finding.where or "Flux", finding.hint or "talops verify"
    return [Difference(LAYER, target, "Flux", "Ready", finding.what, "online", command)]

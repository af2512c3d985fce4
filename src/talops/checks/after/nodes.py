"""Every node is Ready in Kubernetes; its role, labels and taints match the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.conditions import condition
from talops.pipeline.checks import failed, passed, warning
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster, Node
    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
# Kubernetes adds and removes these automatically.
TRANSIENT = "node.kubernetes.io/"
REPAIR = "talops drift shows the difference, talops drift --fix repairs it"


async def look(connections: Connections) -> list[Finding]:
    return judge(connections.site.cluster, await connections.kube_nodes())


def judge(cluster: Cluster, seen: Mapping[str, Object]) -> list[Finding]:
    found = [f for node in cluster.nodes for f in _one(cluster, node, seen.get(node.name))]
    found += [
        failed(
            f"{name} is in Kubernetes but not in the inventory",
            hint=f"add it to nodes.yaml, or: kubectl delete node {name}",
            final=True,
        )
        for name in seen
        if name not in cluster.node_names
    ]
    return found or [
        passed(f"{count(len(seen), 'node')} Ready; roles, labels and taints match the inventory")
    ]


def _one(cluster: Cluster, node: Node, seen: Object | None) -> list[Finding]:
    if seen is None:
        where = f"talops talos logs kubelet --nodes {node.address}"
        return [failed(f"{node.name} is not in Kubernetes", hint=where)]
    found: list[Finding] = []
    if reason := condition(seen, "Ready"):
        hint = f"kubectl describe node {node.name}"
        found.append(failed(f"the node is not Ready: {reason}", node.name, hint))
    if (CONTROL_PLANE in labels_of(seen)) != node.controller:
        found.append(failed(f"the role is not {node.role}", node.name, hint=REPAIR))
    missing = wrong_labels(node, seen)
    found += [
        failed(f"label {key} is {have or 'missing'}, not {node.labels[key]}", node.name, REPAIR)
        for key, have in missing.items()
    ]
    lacking, extra = wrong_taints(cluster, node, seen)
    found += [failed(f"taint {taint} is missing", node.name, REPAIR) for taint in lacking]
    found += [warning(f"taint {taint} is not in the inventory", node.name) for taint in extra]
    if (seen.get("spec") or {}).get("unschedulable"):
        found.append(warning("the node is cordoned", node.name, f"kubectl uncordon {node.name}"))
    return found


def labels_of(seen: Object) -> Mapping[str, str]:
    return dict(seen["metadata"].get("labels") or {})


def wrong_labels(node: Node, seen: Object) -> dict[str, str]:
    """Labels that differ from the inventory → actual value."""
    have = labels_of(seen)
    return {key: have.get(key, "") for key, value in node.labels.items() if have.get(key) != value}


def wanted_taints(cluster: Cluster, node: Node) -> list[str]:
    own = [f"{CONTROL_PLANE}:NoSchedule"] if node.controller else []
    return [*([] if cluster.schedule_on_control_planes else own), *node.taints]


def wrong_taints(cluster: Cluster, node: Node, seen: Object) -> tuple[list[str], list[str]]:
    """Taints that are missing, and taints that are not in the inventory."""
    wanted = wanted_taints(cluster, node)
    have = [_text(taint) for taint in (seen.get("spec") or {}).get("taints") or []]
    lacking = [taint for taint in wanted if taint not in have]
    extra = [taint for taint in have if taint not in wanted and not taint.startswith(TRANSIENT)]
    return lacking, extra


def _text(taint: Object) -> str:
    value = taint.get("value") or ""
    return f"{taint['key']}{f'={value}' if value else ''}:{taint['effect']}"

"""The GPUs of the inventory are allocatable in Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.checks.after import workloads
from talops.inventory.support import knows_cdi
from talops.kube.objects import Ref
from talops.pipeline.checks import failed, passed, skipped, unproven, warning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster
    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

RESOURCE = "nvidia.com/gpu"
OLD_PLUGIN = Ref("apps/v1", "DaemonSet", "nvidia-device-plugin", "kube-system")
LEFT_OVER = warning(
    "the device plugin for Talos before 1.13 still runs, next to the NVIDIA operator",
    str(OLD_PLUGIN),
    "kubectl -n kube-system delete daemonset nvidia-device-plugin;"
    " kubectl delete runtimeclass nvidia",
)


async def look(connections: Connections) -> list[Finding]:
    if not any(node.gpus for node in connections.site.cluster.nodes):
        return [skipped("no node of the inventory has a GPU")]
    async with connections.kube() as kube:
        nodes = {n["metadata"]["name"]: n for n in await kube.list_all("v1", "Node")}
        cluster = connections.site.cluster
        old = await kube.get(OLD_PLUGIN) if knows_cdi(cluster.talos_version) else None
        found = judge(cluster, nodes, run=await workloads.are_run(kube))
        return [*found, LEFT_OVER] if old else found


def judge(cluster: Cluster, seen: Mapping[str, Object], *, run: bool) -> list[Finding]:
    """`run`: a device plugin can be running; otherwise missing capacity proves nothing."""
    found = []
    for node in cluster.nodes:
        if not node.gpus:
            continue
        status = (seen.get(node.name) or {}).get("status") or {}
        have = int((status.get("allocatable") or {}).get(RESOURCE, 0))
        if have >= len(node.gpus):
            found.append(passed(f"{have} {RESOURCE}", node.name))
        elif not run:
            found.append(unproven(f"no {RESOURCE} yet: {workloads.NO_CONTROLLERS}", node.name))
        else:
            what = f"{have} {RESOURCE} allocatable, but the inventory has {len(node.gpus)}"
            found.append(failed(what, node.name, _hint(cluster)))
    return found


def _hint(cluster: Cluster) -> str:
    if knows_cdi(cluster.talos_version):
        return "kubectl -n gpu-operator get pods -o wide"
    return "kubectl -n kube-system get pods -o wide"

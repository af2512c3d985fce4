"""Simulated workloads: their status says that all pods run, although none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
MANAGER = "lab-played-workloads"


async def play(api: KubeApi, *, plays: bool) -> list[Object]:
    """Every workload as it is now, its status settled unless real controllers do that."""
    nodes = len((await api.get("/api/v1/nodes") or {"items": []})["items"])
    found: list[Object] = []
    for plural, kind in (("deployments", "Deployment"), ("daemonsets", "DaemonSet")):
        listed = await api.get(f"/apis/apps/v1/{plural}") or {"items": []}
        for obj in listed["items"] or []:
            named = {"kind": kind, **obj}
            found.append(await _settled(api, plural, kind, obj, nodes) if plays else named)
    return found


async def _settled(api: KubeApi, plural: str, kind: str, obj: Object, nodes: int) -> Object:
    meta = obj["metadata"]
    wanted = _status(kind, obj, nodes)
    if all(obj.get("status", {}).get(key) == value for key, value in wanted.items()):
        return {"kind": kind, **obj}
    path = f"/apis/apps/v1/namespaces/{meta['namespace']}/{plural}/{meta['name']}/status"
    name = {"name": meta["name"], "namespace": meta["namespace"]}
    body = {"apiVersion": "apps/v1", "kind": kind, "metadata": name, "status": wanted}
    return await api.apply(path, body, manager=MANAGER)


def _status(kind: str, obj: Object, nodes: int) -> Object:
    seen = {"observedGeneration": obj["metadata"]["generation"]}
    if kind == "Deployment":
        count = obj["spec"].get("replicas", 1)
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        return {**seen, **dict.fromkeys(names, count)}
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
    )
    return {**seen, "numberMisscheduled": 0, **dict.fromkeys(counts, nodes)}

"""Pods that hold the old Kubernetes CA: they started before their namespace had the new one.

Every namespace has the CAs in the ConfigMap kube-root-ca.crt, which the kubelet mounts beside the
token of a service account. Programs read that file when they start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.kube.objects import Ref
from talops.machineconfig.secrets import pem
from talops.waiting import NotYet, Ready

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.pki import Pair

ROOT_CA = "kube-root-ca.crt"
RESTARTED = "kubectl.kubernetes.io/restartedAt"
# Owners whose pods are replaced when their template changes.
TEMPLATES = ("Deployment", "StatefulSet", "DaemonSet")
_MIRROR = "kubernetes.io/config.mirror"


@dataclass(frozen=True, order=True)
class Workload:
    """The owner of pods; `kind` Pod: it has none, or one that does not replace it."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def has_ca(config_map: Object, new: Pair) -> bool:
    wanted = "".join(pem.from_one_line(new.crt).decode().split())
    text = str((config_map.get("data") or {}).get("ca.crt") or "")
    return wanted in "".join(text.split())


def changed_at(config_map: Object) -> datetime:
    """When its content was last written; its creation, if the server does not say."""
    meta = config_map["metadata"]
    times = [
        str(entry["time"])
        for entry in meta.get("managedFields") or []
        if entry.get("time") and "f:data" in (entry.get("fieldsV1") or {})
    ]
    return _time(max([*times, str(meta["creationTimestamp"])]))


def holders(
    pods: Iterable[Object], since: Mapping[str, datetime], owners: Mapping[str, str]
) -> Counter[Workload]:
    """How many pods of each workload started before `since`, by namespace. `owners`: Deployments
    by `namespace/ReplicaSet`.
    """
    found: Counter[Workload] = Counter()
    for pod in pods:
        namespace = pod["metadata"]["namespace"]
        started = (pod.get("status") or {}).get("startTime")
        old = namespace not in since or not started or _time(started) <= since[namespace]
        if old and _mounts(pod) and not _ended(pod):
            found[_owner(pod, owners)] += 1
    return found


async def look(kube: KubeClient, new: Pair) -> Counter[Workload]:
    """Those that hold the old CA alone."""
    maps = await kube.list_all("v1", "ConfigMap", fields=f"metadata.name={ROOT_CA}")
    since = {m["metadata"]["namespace"]: changed_at(m) for m in maps if has_ca(m, new)}
    sets = await kube.list_all("apps/v1", "ReplicaSet")
    return holders(await kube.list_all("v1", "Pod"), since, dict(_deployments(sets)))


async def spread(kube: KubeClient, new: Pair) -> Ready[None] | NotYet:
    """Whether the controller manager has written the new CA into every namespace; a cluster
    without one has no such ConfigMaps.
    """
    maps = await kube.list_all("v1", "ConfigMap", fields=f"metadata.name={ROOT_CA}")
    missing = sorted(m["metadata"]["namespace"] for m in maps if not has_ca(m, new))
    return NotYet(f"not in namespace {missing[0]} yet") if missing else Ready(None)


async def restart(kube: KubeClient, workload: Workload, now: datetime) -> bool:
    """As `kubectl rollout restart`; False if nothing would replace its pods."""
    if workload.kind not in TEMPLATES:
        return False
    changes = {"metadata": {"annotations": {RESTARTED: now.isoformat(timespec="seconds")}}}
    ref = Ref("apps/v1", workload.kind, workload.name, workload.namespace)
    await kube.merge(ref, {"spec": {"template": changes}})
    return True


def _deployments(sets: Iterable[Object]) -> Iterator[tuple[str, str]]:
    for each in sets:
        for owner in each["metadata"].get("ownerReferences") or []:
            if owner["kind"] == "Deployment":
                name = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
                yield name, owner["name"]


def _owner(pod: Object, deployments: Mapping[str, str]) -> Workload:
    meta = pod["metadata"]
    namespace = meta["namespace"]
    for owner in meta.get("ownerReferences") or []:
        deployment = deployments.get(f"{namespace}/{owner['name']}")
        if owner["kind"] == "ReplicaSet" and deployment:
            return Workload(namespace, "Deployment", deployment)
        if owner["kind"] in TEMPLATES:
            return Workload(namespace, owner["kind"], owner["name"])
    return Workload(namespace, "Pod", meta["name"])


def _mounts(pod: Object) -> bool:
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        return False
    volumes: list[Any] = pod["spec"].get("volumes") or []
    sources = [s for v in volumes for s in (v.get("projected") or {}).get("sources") or []]
    return any((s.get("configMap") or {}).get("name") == ROOT_CA for s in sources)


def _ended(pod: Object) -> bool:
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return ended or bool(pod["metadata"].get("deletionTimestamp"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)

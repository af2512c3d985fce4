"""Workloads that a roll must not disturb: Deployments, StatefulSets and their budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
NAMESPACE = "shop"
MANAGER = "test"
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "Deployment": f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
    "StatefulSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets",
    "DaemonSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets",
    "Job": f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs",
    "PodDisruptionBudget": f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets",
}


def _object(version: str, kind: str, name: str, spec: Object) -> Object:
    place = {} if kind == "Namespace" else {"namespace": NAMESPACE}
    meta = {"name": name, "labels": {"app": name}, **place}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def namespace() -> Object:
    return _object("v1", "Namespace", NAMESPACE, {})


def _template(name: str, notes: dict[str, str], **spec: Any) -> Object:
    """`notes` are annotations of the lab: ready_after, stops_after …"""
    annotations = {f"talops.lab/{key.replace('_', '-')}": text for key, text in notes.items()}
    return {
        "metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": f"{name}:1"}], **spec},
    }


def _spread(name: str) -> list[Object]:
    """On as many nodes as there are."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": name}},
        }
    ]


def deployment(name: str, replicas: int, **notes: str) -> Object:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, notes, topologySpreadConstraints=_spread(name)),
    }
    return _object("apps/v1", "Deployment", name, spec)


def stateful_set(name: str, replicas: int, **notes: str) -> Object:
    spec = {
        "replicas": replicas,
        "serviceName": name,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, notes, topologySpreadConstraints=_spread(name)),
    }
    return _object("apps/v1", "StatefulSet", name, spec)


def storage_class() -> Object:
    """Volumes of a driver that the lab plays; they are created where the pod is placed."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "disks"},
        "provisioner": "csi.proxmox.sinextra.dev",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    }


def with_volumes(stateful: Object) -> Object:
    """The same StatefulSet with a volume for each pod."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {**stateful, "spec": {**stateful["spec"], "volumeClaimTemplates": [claim]}}


def daemon_set(name: str, **notes: str) -> Object:
    spec = {"selector": {"matchLabels": {"app": name}}, "template": _template(name, notes)}
    return _object("apps/v1", "DaemonSet", name, spec)


def job(name: str, **notes: str) -> Object:
    spec = {"backoffLimit": 0, "template": _template(name, notes, restartPolicy="Never")}
    return _object("batch/v1", "Job", name, spec)


def budget(name: str, available: int) -> Object:
    """At least this many ready pods of the workload of this name."""
    spec = {"minAvailable": available, "selector": {"matchLabels": {"app": name}}}
    return _object("policy/v1", "PodDisruptionBudget", name, spec)


def shop(workers: int, *, volumes: bool = False, **notes: str) -> list[Object]:
    """What a cluster of this size carries: spread, with budgets that a roll of one node can keep.
    The only worker of a cluster cannot be drained if a pod has to stay.
    """
    several = workers > 1
    store = stateful_set("db", 3 if several else 1, **notes)
    return [
        deployment("web", max(2, workers), **notes),
        budget("web", max(2, workers) - 1 if several else 0),
        *([storage_class()] if volumes else []),
        with_volumes(store) if volumes else store,
        budget("db", 2 if several else 0),
        daemon_set("agent"),
    ]


def path_of(obj: Object) -> str:
    return f"{_PATHS[obj['kind']]}/{obj['metadata']['name']}"


async def deploy(api: KubeApi, *objects: Object) -> None:
    for obj in (namespace(), *objects):
        await api.apply(path_of(obj), obj, manager=MANAGER)

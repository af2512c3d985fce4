"""What the API server sees of a kubelet: a Node, its status and a renewed lease."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.kubernetes.api import KubeApi

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_LEASE_SECONDS = 40
_OWNED = "talos.dev/owned-taints"
# Without it the controller manager does not attach volumes to the node.
_ATTACHED = "volumes.kubernetes.io/controller-managed-attach-detach"


@dataclass(frozen=True)
class StaticPod:
    """`version` is that of the resource with its config, which its annotation repeats."""

    image: str
    version: str
    ready: bool = True


@dataclass(frozen=True)
class NodeFacts:
    """One node, as its machine config and its hardware describe it."""

    name: str
    addresses: tuple[str, ...]
    kubelet_version: str
    os_image: str
    machine_id: str
    boot_id: str
    cores: int
    memory: int
    control_plane: bool
    schedulable: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    kernel: str = "6.18.5-talos"


class Kubelet:
    """Calls the API server for one node."""

    def __init__(self, api: KubeApi, facts: NodeFacts) -> None:
        self._api = api
        self.facts = facts
        self._path = f"/api/v1/nodes/{facts.name}"

    async def register(self, facts: NodeFacts, *, ready: bool, reason: str = "") -> None:
        """A Node is created with the not-ready taint; the last step removes it from a ready one."""
        self.facts = facts
        present = await self._api.get(self._path)
        if present is None:
            present = await self._api.apply(self._path, _node(facts, []), manager="kubelet")
        await self.report(ready=ready, reason=reason)
        taints = _foreign_taints(present, ready=ready)
        await self._api.apply(self._path, _node(facts, taints), manager="kubelet")
        await self.renew()

    async def report(self, *, ready: bool, reason: str = "") -> None:
        body = {**_identity(self.facts), "status": _status(self.facts, ready=ready, reason=reason)}
        await self._api.apply(f"{self._path}/status", body, manager="kubelet")

    async def renew(self) -> None:
        name = self.facts.name
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": _now(micro=True),
            },
        }
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
        await self._api.apply(path, body, manager="kubelet")

    async def mirror_static_pods(self, pods: Mapping[str, StaticPod]) -> None:
        """The API objects of the control plane's static pods, by component."""
        for component, static in pods.items():
            name = f"{component}-{self.facts.name}"
            path = f"/api/v1/namespaces/kube-system/pods/{name}"
            pod = _static_pod(component, name, static, self.facts)
            await self._api.apply(path, pod, manager="kubelet")
            status = _pod_status(component, static, self.facts)
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": status}
            await self._api.apply(f"{path}/status", body, manager="kubelet-status")


async def mark_unknown(api: KubeApi, name: str) -> None:
    """What the node controller writes when a kubelet has stopped posting."""
    condition = {
        **_condition("Ready", "Unknown", "NodeStatusUnknown"),
        "message": "Kubelet stopped posting node status.",
    }
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"conditions": [condition]},
    }
    await api.apply(f"/api/v1/nodes/{name}/status", body, manager="node-controller")


def _identity(facts: NodeFacts) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": facts.name}}


def _foreign_taints(node: Mapping[str, Any], *, ready: bool) -> list[dict[str, str]]:
    """Taints set by other clients, which must be kept."""
    owned = json.loads(node["metadata"].get("annotations", {}).get(_OWNED, "[]"))
    gone = {*owned, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    keep = gone if ready else set(owned)
    return [t for t in node.get("spec", {}).get("taints", []) if t["key"] not in keep]


def _node(facts: NodeFacts, foreign: list[dict[str, str]]) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": facts.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **({CONTROL_PLANE: ""} if facts.control_plane else {}),
        **facts.labels,
    }
    taints = [dict(taint) for taint in facts.taints]
    if facts.control_plane and not facts.schedulable:
        taints.insert(0, {"key": CONTROL_PLANE, "effect": "NoSchedule"})
    owned = sorted({taint["key"] for taint in taints})
    foreign = [taint for taint in foreign if taint["key"] not in owned]
    annotations = {**facts.annotations, _OWNED: json.dumps(owned), _ATTACHED: "true"}
    metadata = {"name": facts.name, "labels": labels, "annotations": annotations}
    return {**_identity(facts), "metadata": metadata, "spec": {"taints": [*taints, *foreign]}}


def _status(facts: NodeFacts, *, ready: bool, reason: str) -> dict[str, Any]:
    resources = {"cpu": str(facts.cores), "memory": f"{facts.memory // 1024}Ki", "pods": "110"}
    ready_condition = _condition(
        "Ready", str(ready), "KubeletReady" if ready else "KubeletNotReady"
    )
    ready_condition["message"] = reason or "kubelet is posting ready status"
    return {
        "addresses": [
            *({"type": "InternalIP", "address": a} for a in facts.addresses),
            {"type": "Hostname", "address": facts.name},
        ],
        "capacity": resources,
        "allocatable": resources,
        "conditions": [
            _condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            _condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            _condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            ready_condition,
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": facts.boot_id,
            "containerRuntimeVersion": "containerd://2.2.1",
            "kernelVersion": facts.kernel,
            "kubeProxyVersion": "",
            "kubeletVersion": facts.kubelet_version,
            "machineID": facts.machine_id,
            "operatingSystem": "linux",
            "osImage": facts.os_image,
            "systemUUID": facts.machine_id,
        },
    }


def _condition(kind: str, status: str, reason: str) -> dict[str, str]:
    now = _now()
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _static_pod(component: str, name: str, static: StaticPod, facts: NodeFacts) -> dict[str, Any]:
    """With the labels and annotations that Talos gives it."""
    labels = {
        "k8s-app": component,
        "tier": "control-plane",
        "component": component,
        "app.kubernetes.io/name": component,
        "app.kubernetes.io/version": static.image.rpartition(":v")[2],
        "app.kubernetes.io/component": "control-plane",
        "app.kubernetes.io/managed-by": "Talos",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "labels": labels,
            "annotations": {
                "kubernetes.io/config.mirror": "talos",
                "kubernetes.io/config.source": "http",
                "talos.dev/config-version": static.version,
                "talos.dev/secrets-version": "1",
            },
        },
        "spec": {
            "nodeName": facts.name,
            "hostNetwork": True,
            "priorityClassName": "system-cluster-critical",
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            "containers": [{"name": component, "image": static.image}],
        },
    }


def _pod_status(component: str, static: StaticPod, facts: NodeFacts) -> dict[str, Any]:
    now, ready = _now(), str(static.ready)
    kinds = {"PodScheduled": "True", "Initialized": "True"}
    kinds |= {"ContainersReady": ready, "Ready": ready}
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": facts.addresses[0],
        "podIP": facts.addresses[0],
        "hostIPs": [{"ip": facts.addresses[0]}],
        "podIPs": [{"ip": facts.addresses[0]}],
        "conditions": [
            {"type": kind, "status": status, "lastTransitionTime": now}
            for kind, status in kinds.items()
        ],
        "containerStatuses": [
            {
                "name": component,
                "image": static.image,
                "imageID": static.image,
                "containerID": f"containerd://{component}-{facts.machine_id}",
                "ready": static.ready,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
        ],
    }


def _now(*, micro: bool = False) -> str:
    now = dt.datetime.now(dt.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")

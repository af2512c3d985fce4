"""Fill in the namespace that charts leave to `helm install`, because talops applies objects."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

# Kinds without a namespace. Cluster* covers roles, bindings, issuers and Cilium kinds.
_CLUSTER_WIDE = {
    "APIService",
    "CSIDriver",
    "CiliumLoadBalancerIPPool",
    "CiliumL2AnnouncementPolicy",
    "CustomResourceDefinition",
    "DeviceClass",
    "GatewayClass",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}


def placed(objects: list[Object], namespace: str) -> list[Object]:
    return [_placed(obj, namespace) for obj in objects]


def _placed(obj: Object, namespace: str) -> Object:
    wide = obj["kind"] in _CLUSTER_WIDE or "Cluster" in obj["kind"]
    if wide or obj["metadata"].get("namespace"):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}

"""What `helm install` does besides applying: it sets namespaces and holds back hooks."""

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

_HOOK = "helm.sh/hook"
_OF_AN_INSTALL = {"pre-install", "post-install"}


def placed(objects: list[Object], namespace: str) -> list[Object]:
    return [_placed(obj, namespace) for obj in objects]


def _placed(obj: Object, namespace: str) -> Object:
    wide = obj["kind"] in _CLUSTER_WIDE or "Cluster" in obj["kind"]
    if wide or obj["metadata"].get("namespace"):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def installed(objects: list[Object]) -> list[Object]:
    """Without the hooks of upgrades and removals: applied plainly, those would run at once."""
    return [obj for obj in objects if not (hooks := _hooks(obj)) or hooks & _OF_AN_INSTALL]


def _hooks(obj: Object) -> set[str]:
    text = (obj["metadata"].get("annotations") or {}).get(_HOOK) or ""
    return {part.strip() for part in str(text).split(",") if part.strip()}

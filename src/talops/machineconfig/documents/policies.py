"""API server defaults for new clusters: pod admission and the audit policy."""

from __future__ import annotations

from typing import Any

_LEVELS = {"audit": "restricted", "enforce": "baseline", "warn": "restricted"}

POD_SECURITY: dict[str, Any] = {
    "apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
    "kind": "PodSecurityConfiguration",
    "defaults": _LEVELS | {f"{name}-version": "latest" for name in _LEVELS},
    "exemptions": {"namespaces": ["kube-system"], "runtimeClasses": [], "usernames": []},
}
AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata"}],
}

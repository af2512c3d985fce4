"""Manifests of the mirror: correct kinds, names and references, images that are never pulled."""

from __future__ import annotations

import json
from typing import Any

Object = dict[str, Any]

FLUX = "v2.9.5-lab"
OPERATOR = "v0.60.0-lab"
CONTROLLERS = (
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
)


def as_manifest(objects: list[Object]) -> str:
    """Several documents; JSON is YAML."""
    return "".join(f"---\n{json.dumps(obj, indent=2)}\n" for obj in objects)


def flux() -> list[Object]:
    return [
        _namespace("flux-system"),
        _crd("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories"),
        _crd("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations"),
        *(_account(name) for name in CONTROLLERS),
        _role("cluster-reconciler-flux-system", CONTROLLERS),
        *(deployment(name, "flux-system", f"lab.example/{name}:{FLUX}") for name in CONTROLLERS),
    ]


def operator() -> list[Object]:
    image = f"lab.example/flux-operator:{OPERATOR}"
    return [
        _namespace("flux-system"),
        _crd("fluxcd.controlplane.io", "FluxInstance", "fluxinstances"),
        _account("flux-operator"),
        _role("flux-operator", ("flux-operator",)),
        deployment("flux-operator", "flux-system", image),
    ]


def deployment(name: str, namespace: str, image: str) -> Object:
    labels = {"app": name}
    container = {"name": "manager", "image": image}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _account(name: str) -> Object:
    meta = {"name": name, "namespace": "flux-system"}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def _role(name: str, accounts: tuple[str, ...]) -> Object:
    subjects = [
        {"kind": "ServiceAccount", "name": account, "namespace": "flux-system"}
        for account in accounts
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": role,
        "subjects": subjects,
    }


def _crd(group: str, kind: str, plural: str) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }

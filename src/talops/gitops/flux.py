"""The objects that hand a cluster to Flux."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Repository
    from talops.redaction import Secret

Object = dict[str, Any]

NAMESPACE = "flux-system"
NAME = "flux-system"
KEY_SECRET, GIT_SECRET = "sops-age", "flux-system"
# Flux' kustomize-controller reads age keys from entries with this ending.
KEY_SUFFIX = ".agekey"
KEY_ENTRY = f"age{KEY_SUFFIX}"
CANARY = "talops-canary"
CANARY_FILE = "canary.sops.yaml"
SOURCES, KUSTOMIZE = "source.toolkit.fluxcd.io/v1", "kustomize.toolkit.fluxcd.io/v1"
# The largest content of one Secret that the API server accepts.
LARGEST_SECRET = 1024 * 1024


def namespace(name: str = NAMESPACE) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def secret(name: str, values: Mapping[str, str | Secret], place: str = NAMESPACE) -> Object:
    """An Opaque Secret; raises if it is too large for the API server."""
    plain = {
        key: value if isinstance(value, str) else value.reveal() for key, value in values.items()
    }
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": place},
        "type": "Opaque",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()},
    }
    check_size(made, f"Secret {place}/{name}")
    return made


def check_size(obj: Object, where: str) -> None:
    size = sum(len(base64.b64decode(v)) for v in (obj.get("data") or {}).values())
    size += sum(len(str(v).encode()) for v in (obj.get("stringData") or {}).values())
    if size > LARGEST_SECRET:
        raise TalopsError(
            f"the Secret has {size} bytes; the limit is {LARGEST_SECRET}",
            where=where,
            hint="split it into several Secrets",
        )


def age_secret(*identities: Secret) -> Object:
    """One entry with all identities, one per line, so that they change together."""
    from talops.redaction import Secret as Text

    lines = "".join(f"{identity.reveal()}\n" for identity in identities)
    return secret(KEY_SECRET, {KEY_ENTRY: Text(lines)})


def token_secret(username: str, token: Secret, ca: str | None) -> Object:
    return secret(
        GIT_SECRET, {"username": username, "password": token, **({"ca.crt": ca} if ca else {})}
    )


def deploy_key_secret(private: Secret, public: str, known_hosts: str) -> Object:
    values: dict[str, str | Secret] = {
        "identity": private,
        "identity.pub": public,
        "known_hosts": known_hosts,
    }
    return secret(GIT_SECRET, values)


def ca_secret(ca: str) -> Object:
    """A public repository on a server with a private CA."""
    return secret(GIT_SECRET, {"ca.crt": ca})


def git_repository(repository: Repository, *, with_secret: bool) -> Object:
    spec: Object = {
        "interval": repository.interval,
        "url": repository.url,
        "ref": {"branch": repository.branch},
    }
    if with_secret:
        spec["secretRef"] = {"name": GIT_SECRET}
    return _object(SOURCES, "GitRepository", spec)


def kustomization(repository: Repository) -> Object:
    spec: Object = {
        "interval": "1h",
        "retryInterval": "1m",
        "timeout": "5m",
        "path": f"./{repository.path}",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": NAME},
        "decryption": {"provider": "sops", "secretRef": {"name": KEY_SECRET}},
    }
    return _object(KUSTOMIZE, "Kustomization", spec)


def flux_instance(version: str) -> Object:
    """The FluxInstance for flux-operator; the two objects above define the sync."""
    spec = {
        "distribution": {"version": version, "registry": "ghcr.io/fluxcd"},
        "components": [
            "source-controller",
            "kustomize-controller",
            "helm-controller",
            "notification-controller",
        ],
        "cluster": {"type": "kubernetes", "networkPolicy": True},
    }
    made = _object("fluxcd.controlplane.io/v1", "FluxInstance", spec)
    made["metadata"]["name"] = "flux"
    return made


def _object(api: str, kind: str, spec: Object) -> Object:
    meta = {"name": NAME, "namespace": NAMESPACE}
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}

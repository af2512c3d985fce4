"""Generate a kubeconfig from the secrets, without a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.machineconfig import yamltext
from talops.machineconfig.secrets import pki

if TYPE_CHECKING:
    from datetime import datetime

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair


def admin_kubeconfig(cluster: str, endpoint: str, bundle: Bundle, now: datetime) -> str:
    """As Talos writes it: user and context are `admin@<cluster>`."""
    pair = pki.kubernetes_admin(bundle.k8s, now)
    return kubeconfig(cluster, endpoint, bundle, f"admin@{cluster}", pair)


def kubeconfig(cluster: str, endpoint: str, bundle: Bundle, name: str, pair: Pair) -> str:
    """`name` is that of the user and of the context."""
    user = {"client-certificate-data": pair.crt, "client-key-data": pair.key.reveal()}
    server = {"server": endpoint, "certificate-authority-data": bundle.trusted_k8s}
    context = {"cluster": cluster, "namespace": "default", "user": name}
    return yamltext.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": context}],
            "current-context": name,
        }
    )

"""Generate an admin kubeconfig from the secrets, without a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.machineconfig import yamltext
from talops.machineconfig.secrets import pki

if TYPE_CHECKING:
    from datetime import datetime

    from talops.machineconfig.secrets.bundle import Bundle


def admin_kubeconfig(cluster: str, endpoint: str, bundle: Bundle, now: datetime) -> str:
    """As Talos writes it: user and context are `admin@<cluster>`."""
    pair = pki.kubernetes_admin(bundle.k8s, now)
    admin = f"admin@{cluster}"
    user = {"client-certificate-data": pair.crt, "client-key-data": pair.key.reveal()}
    server = {"server": endpoint, "certificate-authority-data": bundle.k8s.crt}
    return yamltext.dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": admin, "user": user}],
            "contexts": [
                {
                    "name": admin,
                    "context": {"cluster": cluster, "namespace": "default", "user": admin},
                }
            ],
            "current-context": admin,
        }
    )

"""Keys in the same files for other programs: reported in one note and otherwise ignored."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of cluster-template and the repositories that descend from it, by what the keys are about.
FOREIGN_PREFIXES = (
    *("cloudflare_", "cilium_", "unifi_", "github_", "external_dns_", "cert_manager_"),
    *("monitoring_", "hubble_", "grafana_", "loki_", "metrics_", "logs_", "tracing_", "trace_"),
    *("observability_", "network_policies_", "keycloak_", "oidc_", "google_", "microsoft_"),
    *("kubernetes_oidc_", "headlamp_", "cnpg_", "dragonfly_", "rustfs_", "volsync_"),
    *("backup_s3_", "backup_age_", "external_secrets_", "onepassword_", "litellm_", "langfuse_"),
    *("obot_", "mcp_", "azure_", "proxmox_csi_", "proxmox_ccm_"),
)
FOREIGN_NAMES = (
    *("cluster_gateway_addr", "cluster_dns_gateway_addr", "cluster_ingress_addr"),
    *("cluster_domain", "bootstrap_cloudflare", "environment", "storage_class"),
    *("node_memory_threshold", "node_cpu_threshold", "proxmox_endpoint", "proxmox_region"),
)
# Anchors and extensions of YAML files, as in compose files.
OWN_MARK = ("x-", "x_")


def is_foreign(key: str) -> bool:
    return key in FOREIGN_NAMES or key.startswith(FOREIGN_PREFIXES)


def patterns_of(data: Any) -> tuple[str, ...]:
    """`x_ignore` of cluster.yaml, if it is a list of strings."""
    given = data.get("x_ignore") if isinstance(data, dict) else None
    return tuple(item for item in given if isinstance(item, str)) if isinstance(given, list) else ()


def ignored(key: str, patterns: Iterable[str]) -> bool:
    """By the list of talops, or by the user."""
    if key == "x_ignore":
        return False
    if is_foreign(key) or key.startswith(OWN_MARK):
        return True
    return any(fnmatchcase(key, pattern) for pattern in patterns)

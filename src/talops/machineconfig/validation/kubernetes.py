"""Validate each Kubernetes document of 1.14."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import combinations
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.secrets import pem
from talops.machineconfig.validation import rules
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[dict[str, Any]], Iterator[str]]

CONTROL_PLANE_ONLY = frozenset(
    {
        "KubeAPIServerConfig",
        "KubeAdmissionControlConfig",
        "KubeAggregatorCAConfig",
        "KubeAuditPolicyConfig",
        "KubeAuthenticationConfig",
        "KubeAuthorizerConfig",
        "KubeControllerManagerConfig",
        "KubeCoreDNSConfig",
        "KubeEtcdEncryptionConfig",
        "KubeFlannelCNIConfig",
        "KubeProxyConfig",
        "KubeSchedulerConfig",
        "KubeServiceAccountConfig",
        "KubeTalosAPIAccessConfig",
    }
)
_AUTHORIZERS = ("Node", "RBAC", "Webhook")
_PROXY_MODES = ("", "nftables", "iptables", "ipvs")
_PORTS = range(1, 65536)
# Pod network size per node, by IP version, and the maximum number of node networks and services.
_SHARE = {4: 24, 6: 64}
_MOST_SHARES = 16
_MOST_HOST_BITS = 20
# The API server reads these settings from files that Talos writes.
_DENIED_ARGUMENTS = {
    "oidc-signing-algs": "not supported with KubeAuthenticationConfig",
    "anonymous-auth": "use KubeAuthenticationConfig",
    "oidc-": "use KubeAuthenticationConfig",
    "authentication-config": "use KubeAuthenticationConfig",
    "authorization-config": "use KubeAuthorizerConfig",
    "authorization-mode": "use KubeAuthorizerConfig",
    "authorization-webhook-": "use KubeAuthorizerConfig",
}


def _image(document: dict[str, Any]) -> Iterator[str]:
    if document.get("enabled") is not False and not document.get("image"):
        yield "image cannot be empty"


def _kubelet(document: dict[str, Any]) -> Iterator[str]:
    yield from _image(document)
    yield from rules.kubelet_problems(document.get("config"))


def _api_server(document: dict[str, Any]) -> Iterator[str]:
    yield from _image(document)
    for name in sorted(document.get("extraArgs") or {}):
        reasons = (why for start, why in _DENIED_ARGUMENTS.items() if name.startswith(start))
        if reason := next(reasons, None):
            yield f'kube-apiserver extra argument "{name}" is not allowed: {reason}'


def _proxy(document: dict[str, Any]) -> Iterator[str]:
    yield from _image(document)
    if document.get("enabled") is not False and (document.get("mode") or "") not in _PROXY_MODES:
        yield f'invalid proxy mode "{document["mode"]}"'


def _node(document: dict[str, Any]) -> Iterator[str]:
    for subnet in at(document, "nodeIP.validSubnets") or []:
        if not rules.is_subnet_filter(subnet):
            yield f'nodeIP subnet is not valid: "{subnet}"'
    yield from rules.label_problems(document.get("labels") or {})
    yield from rules.taint_problems(document.get("taints") or {})


def _cluster(document: dict[str, Any]) -> Iterator[str]:
    if not document.get("clusterName"):
        yield "clusterName must be specified"


def _network(document: dict[str, Any]) -> Iterator[str]:
    pods, services = (document.get(key) or [] for key in ("podSubnets", "serviceSubnets"))
    yield from _sizes(document, pods, services)
    for name, subnets in (("pod", pods), ("service", services)):
        if not subnets:
            yield f"{name} subnets: at least one subnet must be specified"
        families = [":" in str(subnet) for subnet in subnets]
        if any(one == other for one, other in combinations(families, 2)):
            yield f"{name} subnets: at most one IPv4 and one IPv6 subnet can be specified"
    if len(pods) != len(services):
        yield "the number of pod subnets must match the number of service subnets"


def _sizes(document: dict[str, Any], pods: list[str], services: list[str]) -> Iterator[str]:
    """The controller manager allocates networks of one size per node, up to a maximum number."""
    for network in _readable(pods):
        share = document.get(f"nodeCIDRMaskSizeIPv{network.version}") or _SHARE[network.version]
        if not network.prefixlen <= share <= network.prefixlen + _MOST_SHARES:
            yield (
                f"pod subnets: invalid subnet: {network} does not suit the per-node pod CIDR mask"
                f" size /{share}, the difference must be at most {_MOST_SHARES} bits"
            )
    for network in _readable(services):
        if network.max_prefixlen - network.prefixlen > _MOST_HOST_BITS:
            yield (
                f"service subnets: invalid subnet: {network} is too large, it must be at least"
                f" /{network.max_prefixlen - _MOST_HOST_BITS}"
            )


def _readable(subnets: list[str]) -> list[IPv4Network | IPv6Network]:
    return [ip_network(subnet, strict=False) for subnet in subnets if rules.is_network(subnet)]


def _kubeprism(document: dict[str, Any]) -> Iterator[str]:
    if document.get("port") not in _PORTS:
        yield f"invalid port {document.get('port')}: must be in range 1-65535"


def _trusted(document: dict[str, Any]) -> Iterator[str]:
    issuing = document.get("issuingCA")
    if issuing is None and document["kind"] == "KubeAggregatorCAConfig":
        yield "issuing CA is not set"
    if issuing is not None:
        yield from (f"{part} is required" for part in ("cert", "key") if not issuing.get(part))
        yield from rules.pem_pair_problems(issuing, "issuing CA")
    for place, text in enumerate(document.get("acceptedCAs") or []):
        try:
            pem.certificate_from_pem(str(text).encode())
        except TalopsError as error:
            yield f"accepted CA #{place} {error.what}"


def _encryption(document: dict[str, Any]) -> Iterator[str]:
    if not document.get("config"):
        yield "etcd encryption config is required"


def _service_account(document: dict[str, Any]) -> Iterator[str]:
    issuer = document.get("issuer") or {}
    if not issuer.get("privateKey"):
        yield "service issuer private key is required"
    else:
        try:
            pem.key_from_pem(str(issuer["privateKey"]).encode())
        except TalopsError as error:
            yield f"service issuer private key {error.what}"
    if not issuer.get("issuerURL"):
        yield "service issuer URL is required"


def _authorizer(document: dict[str, Any]) -> Iterator[str]:
    kind = document.get("type")
    if kind not in _AUTHORIZERS:
        yield f"authorizer type {kind} is not allowed, allowed types are {', '.join(_AUTHORIZERS)}"
    elif kind == "Webhook" and not document.get("webhook"):
        yield "authorizer webhook configuration is required for Webhook authorizer type"


def _flannel(document: dict[str, Any]) -> Iterator[str]:
    if not document.get("backendType"):
        yield "flannel backend type must be specified"


CHECKS: dict[str, Check] = {
    "KubeAPIServerCAConfig": _trusted,
    "KubeAPIServerConfig": _api_server,
    "KubeAggregatorCAConfig": _trusted,
    "KubeAuthorizerConfig": _authorizer,
    "KubeClusterConfig": _cluster,
    "KubeControllerManagerConfig": _image,
    "KubeEtcdEncryptionConfig": _encryption,
    "KubeFlannelCNIConfig": _flannel,
    "KubeNetworkConfig": _network,
    "KubeNodeConfig": _node,
    "KubePrismConfig": _kubeprism,
    "KubeProxyConfig": _proxy,
    "KubeSchedulerConfig": _image,
    "KubeServiceAccountConfig": _service_account,
    "KubeletConfig": _kubelet,
}

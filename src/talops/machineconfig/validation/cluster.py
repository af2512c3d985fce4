"""The `cluster` section."""

from __future__ import annotations

from ipaddress import ip_network
from itertools import combinations
from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.twins import conflicts
from talops.machineconfig.validation import rules
from talops.machineconfig.validation.kubernetes import CONTROL_PLANE_ONLY
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.validation.view import View

_CNIS = ("flannel", "custom", "none")
# Secrets that etcd, the API server and Talos require, and the documents that contain them from
# 1.14 on.
_CONTROL_PLANE_NEEDS = (
    ("ca.key", "KubeAPIServerCAConfig", "issuingCA.key"),
    ("aggregatorCA.key", "KubeAggregatorCAConfig", "issuingCA.key"),
    ("serviceAccount.key", "KubeServiceAccountConfig", "issuer.privateKey"),
    ("etcd.ca.crt", "", ""),
    ("etcd.ca.key", "", ""),
)
_SUBNETS = ("podSubnets", "serviceSubnets")


def problems(view: View) -> Iterator[str]:
    if not view.cluster:
        yield "cluster instructions are required"
        return
    yield from _endpoint(view)
    yield from _secrets(view)
    yield from _networks(view)
    yield from _discovery(view)
    yield from _manifests(view)
    yield from _twice(view)
    if view.control_plane:
        yield from _cni(at(view.cluster, "network.cni") or {})
        yield from _control_plane(view)
    else:
        yield from _worker(view)


def _endpoint(view: View) -> Iterator[str]:
    endpoint = view.either("cluster.controlPlane.endpoint", "KubeClusterConfig", "endpoint")
    if not endpoint:
        yield "cluster controlplane endpoint is required"
    elif not rules.is_endpoint(endpoint):
        yield f'invalid controlplane endpoint: "{endpoint}" is not an https URL'


def _secrets(view: View) -> Iterator[str]:
    # talosctl accepts an empty token, but the kubelet of such a node never gets a certificate.
    if not view.cluster.get("token"):
        yield "a bootstrap token is required: without it no kubelet can join (.cluster.token)"
    issuing = view.either("cluster.ca.crt", "KubeAPIServerCAConfig", "issuingCA.cert")
    if not issuing and not view.either(
        "cluster.acceptedCAs", "KubeAPIServerCAConfig", "acceptedCAs"
    ):
        yield "the Kubernetes CA certificate is required (.cluster.ca.crt)"
    for place in ("ca", "aggregatorCA", "etcd.ca"):
        yield from rules.pair_problems(at(view.cluster, place), f".cluster.{place}")


def _networks(view: View) -> Iterator[str]:
    domain = view.either("cluster.network.dnsDomain", "KubeNetworkConfig", "dnsDomain")
    if domain and not rules.is_dns_name(str(domain)):
        yield f'"{domain}" is not a valid DNS name'
    good: list[str] = []
    for key in _SUBNETS:
        for subnet in view.either(f"cluster.network.{key}", "KubeNetworkConfig", key) or []:
            if rules.is_network(subnet):
                good.append(subnet)
            else:
                yield f'"{subnet}" is not a network (.cluster.network.{key})'
    for one, other in combinations(good, 2):
        if ip_network(one, strict=False).overlaps(ip_network(other, strict=False)):
            yield f"{one} and {other} overlap (.cluster.network)"


def _discovery(view: View) -> Iterator[str]:
    service = at(view.cluster, "discovery.registries.service") or {}
    by_main = at(view.cluster, "discovery.enabled") and not service.get("disabled")
    if not by_main and not view.kind("DiscoveryServiceConfig"):
        return
    if view.kind("DiscoveryIdentityConfig"):  # which has a separate check
        return
    for key in ("id", "secret"):
        if not view.cluster.get(key):
            yield f"cluster discovery service requires .cluster.{key}"


def _manifests(view: View) -> Iterator[str]:
    manifests = view.cluster.get("inlineManifests") or []
    names = [str(m.get("name") or "").strip() for m in manifests]
    if "" in names:
        yield "inline manifest name can't be empty"
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        yield f'inline manifest name "{name}" is duplicate'


def _twice(view: View) -> Iterator[str]:
    yield from dict.fromkeys(str(twin) for twin in conflicts([view.main, *view.others]))


def _cni(cni: dict[str, Any]) -> Iterator[str]:
    name = cni.get("name") or "flannel"
    if name not in _CNIS:
        yield 'cni name should be one of ["flannel", "custom", "none"]'
    elif name != "custom" and cni.get("urls"):
        yield f'"urls" field should be empty for "{name}" CNI'
    elif name == "custom" and not cni.get("urls"):
        yield '"urls" field should not be empty for "custom" CNI'


def _control_plane(view: View) -> Iterator[str]:
    for path, kind, field in _CONTROL_PLANE_NEEDS:
        if not view.either(f"cluster.{path}", kind, field):
            yield f"required on control planes (.cluster.{path})"
    keys = [view.cluster.get(f"{name}EncryptionSecret") for name in ("secretbox", "aescbc")]
    if not any(keys) and not view.kind("KubeEtcdEncryptionConfig"):
        yield "required on control planes (.cluster.secretboxEncryptionSecret)"
    for key in ("advertisedSubnets", "listenSubnets"):
        for subnet in at(view.cluster, f"etcd.{key}") or []:
            if not rules.is_subnet_filter(subnet):
                yield f'etcd {key} is not valid: "{subnet}"'


def _worker(view: View) -> Iterator[str]:
    if view.cluster.get("etcd"):
        yield "etcd config is only allowed on control plane machines"
    if view.either("cluster.ca.key", "KubeAPIServerCAConfig", "issuingCA.key"):
        yield "cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)"
    kinds = {document["kind"] for document in view.others} & CONTROL_PLANE_ONLY
    if kinds:
        yield (
            "the following document kinds are only allowed on control plane machines: "
            + ", ".join(sorted(kinds))
        )

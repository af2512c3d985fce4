"""The `cluster` section."""

from __future__ import annotations

from ipaddress import ip_network
from itertools import combinations
from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation import rules
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.validation.view import View

_CNIS = ("flannel", "custom", "none")
# What etcd, the API server and Talos' own control plane cannot start without.
_CONTROL_PLANE_NEEDS = (
    "ca.key",
    "aggregatorCA.key",
    "serviceAccount.key",
    "etcd.ca.crt",
    "etcd.ca.key",
)


def problems(view: View) -> Iterator[str]:
    cluster = view.cluster
    if not cluster:
        yield "cluster instructions are required"
        return
    yield from _endpoint(cluster)
    yield from _secrets(view)
    yield from _networks(cluster)
    yield from _discovery(cluster)
    yield from _manifests(cluster)
    if view.control_plane:
        yield from _cni(at(cluster, "network.cni") or {})
        yield from _control_plane(cluster)
    else:
        yield from _worker(cluster)


def _endpoint(cluster: dict[str, Any]) -> Iterator[str]:
    endpoint = at(cluster, "controlPlane.endpoint")
    if not endpoint:
        yield "cluster controlplane endpoint is required"
    elif not rules.is_endpoint(endpoint):
        yield f'invalid controlplane endpoint: "{endpoint}" is no https address'


def _secrets(view: View) -> Iterator[str]:
    # talosctl lets an empty token pass; the kubelet of such a node never gets a certificate.
    if not view.cluster.get("token"):
        yield "a bootstrap token is required: without it no kubelet can join (.cluster.token)"
    if not at(view.cluster, "ca.crt") and not view.cluster.get("acceptedCAs"):
        yield "the Kubernetes CA certificate is required (.cluster.ca.crt)"
    for place in ("ca", "aggregatorCA", "etcd.ca"):
        yield from rules.pair_problems(at(view.cluster, place), f".cluster.{place}")


def _networks(cluster: dict[str, Any]) -> Iterator[str]:
    domain = at(cluster, "network.dnsDomain")
    if domain and not rules.is_dns_name(str(domain)):
        yield f'"{domain}" is not a valid DNS name'
    good: list[str] = []
    for key in ("podSubnets", "serviceSubnets"):
        for subnet in at(cluster, f"network.{key}") or []:
            if rules.is_network(subnet):
                good.append(subnet)
            else:
                yield f'"{subnet}" is no network (.cluster.network.{key})'
    for one, other in combinations(good, 2):
        if ip_network(one, strict=False).overlaps(ip_network(other, strict=False)):
            yield f"{one} and {other} overlap (.cluster.network)"


def _discovery(cluster: dict[str, Any]) -> Iterator[str]:
    service = at(cluster, "discovery.registries.service") or {}
    if not at(cluster, "discovery.enabled") or service.get("disabled"):
        return
    for key in ("id", "secret"):
        if not cluster.get(key):
            yield f"cluster discovery service requires .cluster.{key}"


def _manifests(cluster: dict[str, Any]) -> Iterator[str]:
    names = [str(m.get("name") or "").strip() for m in cluster.get("inlineManifests") or []]
    if "" in names:
        yield "inline manifest name can't be empty"
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        yield f'inline manifest name "{name}" is duplicate'


def _cni(cni: dict[str, Any]) -> Iterator[str]:
    name = cni.get("name") or "flannel"
    if name not in _CNIS:
        yield 'cni name should be one of ["flannel", "custom", "none"]'
    elif name != "custom" and cni.get("urls"):
        yield f'"urls" field should be empty for "{name}" CNI'
    elif name == "custom" and not cni.get("urls"):
        yield '"urls" field should not be empty for "custom" CNI'


def _control_plane(cluster: dict[str, Any]) -> Iterator[str]:
    for path in _CONTROL_PLANE_NEEDS:
        if not at(cluster, path):
            yield f"required on control planes (.cluster.{path})"
    if not (cluster.get("secretboxEncryptionSecret") or cluster.get("aescbcEncryptionSecret")):
        yield "required on control planes (.cluster.secretboxEncryptionSecret)"
    for key in ("advertisedSubnets", "listenSubnets"):
        for subnet in at(cluster, f"etcd.{key}") or []:
            if not rules.is_subnet_filter(subnet):
                yield f'etcd {key} is not valid: "{subnet}"'


def _worker(cluster: dict[str, Any]) -> Iterator[str]:
    if cluster.get("etcd"):
        yield "etcd config is only allowed on control plane machines"
    if at(cluster, "ca.key"):
        yield "cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)"

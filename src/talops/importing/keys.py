"""The keys of cluster.yaml and nodes.yaml that fit what was found."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from talops.importing import facts
from talops.inventory.resolve import FACTORY, POD_CIDR, SVC_CIDR
from talops.inventory.schematics import EMPTY
from talops.machineconfig.contract import Contract
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.importing.facts import Nic
    from talops.importing.model import FoundCluster, FoundNode
    from talops.machineconfig.validation.view import View

Keys = dict[str, Any]


@dataclass(frozen=True)
class _Read:
    node: FoundNode
    view: View
    nic: Nic


def keys_of(found: FoundCluster) -> tuple[Keys, list[Keys]]:
    """Of cluster.yaml, and of each entry of nodes.yaml, without the patches."""
    read = []
    for node in found.nodes:
        view = facts.view_of(node.documents)
        read.append(_Read(node, view, facts.nic(view, node.address)))
    first = next((one for one in read if one.node.controller), read[0])
    cluster = dict(_cluster(found, read, first))
    nodes = [dict(_node(one)) for one in read]
    wanted = {**cluster, **found.keys}
    return (
        {key: value for key, value in wanted.items() if value is not None},
        [
            {key: value for key, value in {**own, **one.node.keys}.items() if value is not None}
            for own, one in zip(nodes, read, strict=True)
        ],
    )


def contract_of(found: FoundCluster) -> Contract:
    """The contract whose configs are most like those that were found."""
    newest = Contract.for_version(found.talos_version)
    documents = [document for node in found.nodes for document in node.documents]
    split = any(document.get("kind") == "KubeClusterConfig" for document in documents)
    if split and newest.splits_documents:
        return newest
    mains = [view.machine for node in found.nodes if (view := facts.view_of(node.documents))]
    if any("network" in machine and not machine["network"] for machine in mains):
        return Contract.V1_12
    return min(newest, Contract.V1_13, key=lambda contract: contract.numbers)


def _cluster(found: FoundCluster, read: list[_Read], first: _Read) -> Iterator[tuple[str, Any]]:
    view, addresses = first.view, [one.node.address for one in read]
    yield "cluster_name", found.name
    yield "talos_version", found.talos_version
    yield "kubernetes_version", found.kubernetes_version
    with_prefix = [one.nic.address for one in read if one.nic.address]
    vip = _shared_address(read, first)
    inside = [*addresses, *([IPv4Address(vip)] if vip else [])]
    network = facts.network_of(with_prefix, inside)
    yield "node_cidr", str(network)
    gateway = first.nic.gateway
    if gateway and gateway != str(network.network_address + 1):
        yield "node_default_gateway", gateway
    yield "node_dns_servers", facts.resolvers(view) or None
    yield "node_ntp_servers", facts.time_servers(view) or None
    vlans = {one.nic.vlan for one in read}
    yield "node_vlan_tag", vlans.pop() if len(vlans) == 1 else None
    yield "cluster_api_addr", vip
    yield from _kubernetes(view, vip)
    factories = {one.factory for one in (facts.image(r.view) for r in read) if one.factory}
    factory = f"https://{factories.pop()}" if len(factories) == 1 else FACTORY
    yield "image_factory_url", factory if factory != FACTORY else None
    yield "registry_mirrors", facts.mirrors(view) or None


def _kubernetes(view: View, vip: str | None) -> Iterator[tuple[str, Any]]:
    sans = at(view.main, "cluster.apiServer.certSANs")
    for document in view.kind("KubeAPIServerConfig"):
        sans = document.get("certExtraSANs") or sans
    yield "cluster_api_tls_sans", [str(name) for name in sans or [] if str(name) != vip] or None
    for key, path, default in (
        ("cluster_pod_cidr", "podSubnets", POD_CIDR),
        ("cluster_svc_cidr", "serviceSubnets", SVC_CIDR),
    ):
        subnets = facts.networks(view, path)
        yield key, subnets[0] if subnets and subnets[0] != str(default) else None
    scheduling = at(view.main, "cluster.allowSchedulingOnControlPlanes")
    if scheduling is None:
        scheduling = at(view.main, "cluster.allowSchedulingOnMasters")
    yield "allow_scheduling_on_control_planes", bool(scheduling)
    split = bool(view.kind("KubeClusterConfig"))
    flannel = bool(view.kind("KubeFlannelCNIConfig")) if split else _has_flannel(view)
    proxies = [document.get("enabled") is not False for document in view.kind("KubeProxyConfig")]
    proxy = all(proxies) if proxies else not at(view.main, "cluster.proxy.disabled")
    if not flannel:
        yield "cni", {"name": "none", "kube_proxy": False} if not proxy else "none"
    elif not proxy:
        yield "cni", {"name": "flannel", "kube_proxy": False}


def _has_flannel(view: View) -> bool:
    return (at(view.main, "cluster.network.cni.name") or "flannel") == "flannel"


def _shared_address(read: list[_Read], first: _Read) -> str | None:
    """The VIP; without one, the address of the endpoint, if it is not that of a node."""
    vips = [one.nic.vip for one in read if one.node.controller and one.nic.vip]
    for text in [*vips, urlsplit(facts.endpoint(first.view) or "").hostname]:
        try:
            address = IPv4Address(str(text))
        except ValueError:
            continue
        if address not in {one.node.address for one in read}:
            return str(address)
    return None


def _node(one: _Read) -> Iterator[tuple[str, Any]]:
    image = facts.image(one.view)
    yield "name", one.node.name
    yield "address", str(one.node.address)
    yield "controller", one.node.controller
    yield "mac_addr", one.nic.mac
    yield "disk", facts.disk(one.view)
    if image.schematic and image.schematic != EMPTY:
        yield "schematic_id", image.schematic
    yield "secureboot", True if image.secureboot else None
    yield "mtu", one.nic.mtu
    yield "encrypt_disk", True if facts.encrypted(one.view) else None
    yield "kernel_modules", facts.kernel_modules(one.view) or None
    yield "labels", facts.labels(one.view) or None
    yield "taints", facts.taints(one.view) or None

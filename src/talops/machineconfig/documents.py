"""The documents beside the main one: host name, links, resolvers, time, volumes, mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.machineconfig.request import ClusterRequest, NodeRequest

# An alias given by MAC address; kernel names change with the PCI topology.
LINK = "net0"
ENCRYPTED_VOLUMES = ("STATE", "EPHEMERAL")


def other_documents(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    return [
        _hostname(node),
        *_links(cluster, node),
        *_virtual_address(cluster, node),
        *_resolvers(cluster),
        *_time(cluster),
        *_volumes(node),
        *_mirrors(cluster),
    ]


def _document(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1alpha1", "kind": kind} | fields


def _hostname(node: NodeRequest) -> dict[str, Any]:
    if node.hostname is None:
        return _document("HostnameConfig", auto="stable")
    return _document("HostnameConfig", auto="off", hostname=node.hostname)


def _address_link(cluster: ClusterRequest) -> str:
    """The link that carries the node's address: the VLAN on top, where Talos makes one."""
    return f"{LINK}.{cluster.vlan}" if cluster.vlan else LINK


def _links(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    if node.mac is None or node.address is None:
        return []
    selector = {"match": f'mac(link.permanent_addr) == "{node.mac.lower()}"'}
    alias = _document("LinkAliasConfig", name=LINK, selector=selector)
    size: dict[str, Any] = {"mtu": node.mtu} if node.mtu else {}
    addressing: dict[str, Any] = {"addresses": [{"address": node.address}]}
    if cluster.gateway:
        addressing["routes"] = [{"gateway": cluster.gateway}]
    if not cluster.vlan:
        return [alias, _document("LinkConfig", name=LINK, **size, **addressing)]
    name = _address_link(cluster)
    return [
        alias,
        _document("LinkConfig", name=LINK, up=True, **size),
        _document("VLANConfig", name=name, vlanID=cluster.vlan, parent=LINK, **size, **addressing),
    ]


def _virtual_address(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    if not (cluster.vip and node.control_plane and node.mac):
        return []
    return [_document("Layer2VIPConfig", name=cluster.vip, link=_address_link(cluster))]


def _resolvers(cluster: ClusterRequest) -> list[dict[str, Any]]:
    if not cluster.dns:
        return []
    return [_document("ResolverConfig", nameservers=[{"address": a} for a in cluster.dns])]


def _time(cluster: ClusterRequest) -> list[dict[str, Any]]:
    return [_document("TimeSyncConfig", ntp={"servers": list(cluster.ntp)})] if cluster.ntp else []


def _volumes(node: NodeRequest) -> list[dict[str, Any]]:
    if node.disk_key is None:
        return []
    encryption = {"provider": "luks2", "keys": [{"slot": 0, node.disk_key.value: {}}]}
    return [_document("VolumeConfig", name=n, encryption=encryption) for n in ENCRYPTED_VOLUMES]


def _mirrors(cluster: ClusterRequest) -> list[dict[str, Any]]:
    return [
        _document("RegistryMirrorConfig", name=host, endpoints=[{"url": url} for url in urls])
        for host, urls in cluster.registry_mirrors.items()
    ]

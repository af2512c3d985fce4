"""The documents next to the main one: host name, links, resolvers, time, volumes, mirrors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.documents.document import document
from talops.machineconfig.documents.main import HOST_DNS

if TYPE_CHECKING:
    from talops.machineconfig.request import ClusterRequest, NodeRequest

# A link alias selected by MAC address; kernel names change with the PCI topology.
LINK = "net0"
STATE, EPHEMERAL = "STATE", "EPHEMERAL"


def other_documents(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    return [
        _hostname(node),
        *_links(cluster, node),
        *_virtual_address(cluster, node),
        *_resolvers(cluster),
        *_time(cluster),
        *_volumes(cluster, node),
        *_mirrors(cluster),
    ]


def _hostname(node: NodeRequest) -> dict[str, Any]:
    if node.hostname is None:
        return document("HostnameConfig", auto="stable")
    return document("HostnameConfig", auto="off", hostname=node.hostname)


def _address_link(cluster: ClusterRequest) -> str:
    """The link with the node's address: the VLAN link, if Talos creates one."""
    return f"{LINK}.{cluster.vlan}" if cluster.vlan else LINK


def _links(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    if node.mac is None or node.address is None:
        return []
    selector = {"match": f'mac(link.permanent_addr) == "{node.mac.lower()}"'}
    alias = document("LinkAliasConfig", name=LINK, selector=selector)
    size: dict[str, Any] = {"mtu": node.mtu} if node.mtu else {}
    addressing: dict[str, Any] = {"addresses": [{"address": node.address}]}
    if cluster.gateway:
        addressing["routes"] = [{"gateway": cluster.gateway}]
    if not cluster.vlan:
        return [alias, document("LinkConfig", name=LINK, **size, **addressing)]
    name = _address_link(cluster)
    return [
        alias,
        document("LinkConfig", name=LINK, up=True, **size),
        document("VLANConfig", name=name, vlanID=cluster.vlan, parent=LINK, **size, **addressing),
    ]


def _virtual_address(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    if not (cluster.vip and node.control_plane and node.mac):
        return []
    return [document("Layer2VIPConfig", name=cluster.vip, link=_address_link(cluster))]


def _resolvers(cluster: ClusterRequest) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {}
    if cluster.dns:
        fields["nameservers"] = [{"address": address} for address in cluster.dns]
    if cluster.contract.splits_documents:
        fields["hostDNS"] = dict(HOST_DNS)
    return [document("ResolverConfig", **fields)] if fields else []


def _time(cluster: ClusterRequest) -> list[dict[str, Any]]:
    return [document("TimeSyncConfig", ntp={"servers": list(cluster.ntp)})] if cluster.ntp else []


def _volumes(cluster: ClusterRequest, node: NodeRequest) -> list[dict[str, Any]]:
    volumes: dict[str, dict[str, Any]] = {STATE: {}, EPHEMERAL: {}}
    if cluster.contract.splits_documents:
        volumes[EPHEMERAL]["mount"] = {"secure": True}
    if node.disk_key is not None:
        keys = [{"slot": 0, node.disk_key.value: {}}]
        for fields in volumes.values():
            fields["encryption"] = {"provider": "luks2", "keys": keys}
    return [document("VolumeConfig", name=n, **fields) for n, fields in volumes.items() if fields]


def _mirrors(cluster: ClusterRequest) -> list[dict[str, Any]]:
    return [
        document("RegistryMirrorConfig", name=host, endpoints=[{"url": url} for url in urls])
        for host, urls in cluster.registry_mirrors.items()
    ]

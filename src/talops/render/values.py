"""Cluster → the values of each layer's terraform.tfvars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.inventory.fields import BDF
from talops.inventory.resolve import derived_mac

if TYPE_CHECKING:
    from talops.inventory.model import Cluster, Node, Proxmox
    from talops.inventory.sections import LegacyVm

IMAGE_KIND = {"iso": "iso", "image": "qcow2"}
IMAGE_CONTENT = {"iso": "iso", "image": "import"}


def platform_values(cluster: Cluster, proxmox: Proxmox) -> dict[str, Any]:
    network = cluster.network
    return {
        "cluster_name": cluster.name,
        "cluster_endpoint": cluster.endpoint,
        "boot": proxmox.boot,
        "template": _template(proxmox),
        "image_storage": proxmox.iso_storage,
        "network": {
            "prefix": network.cidr.prefixlen,
            "gateway": network.gateway,
            "dns": list(network.dns),
        }
        if network.static_boot
        else None,
        "storages": _storages(cluster, proxmox),
        **({"bridges": _bridges(cluster, proxmox)} if reads_hypervisors(cluster) else {}),
        "hardware": _hardware(cluster, proxmox),
        "images": _images(cluster, proxmox),
        "node_order": list(cluster.node_names),
        "nodes": {node.name: _node(cluster, node, proxmox) for node in cluster.nodes},
    }


def _template(proxmox: Proxmox) -> dict[str, Any] | None:
    if proxmox.template is None:
        return None
    return {"vm_id": proxmox.template.vm_id, "host": proxmox.node}


def _hosts(cluster: Cluster) -> list[str]:
    return sorted({node.vm.host for node in cluster.nodes if node.vm})


def _storages(cluster: Cluster, proxmox: Proxmox) -> dict[str, list[str]]:
    needed = [proxmox.disk_storage]
    if proxmox.boot != "template":
        needed.append(proxmox.iso_storage)
    return {host: sorted(set(needed)) for host in _hosts(cluster)}


def reads_hypervisors(cluster: Cluster) -> bool:
    """Layer 02 reads the state of layer 01 if that manages the bridge of the VMs."""
    return cluster.proxmox is not None and bool(_bridges(cluster, cluster.proxmox))


def _bridges(cluster: Cluster, proxmox: Proxmox) -> dict[str, list[str]]:
    wanted, used = proxmox.advanced.network_bridge, set(_hosts(cluster))
    nodes = cluster.hypervisors.nodes if cluster.hypervisors else []
    return {
        node.name: [wanted]
        for node in nodes
        if node.name in used and any(bridge.name == wanted for bridge in node.bridges)
    }


def _hardware(cluster: Cluster, proxmox: Proxmox) -> dict[str, Any]:
    advanced = proxmox.advanced
    tagged = cluster.network.proxmox_tags
    return {
        "bios": advanced.bios,
        "machine": advanced.machine,
        "cpu_type": advanced.cpu_type,
        "scsi_hw": advanced.scsi_hw,
        "balloon": advanced.balloon,
        "numa": advanced.numa,
        "qemu_agent": advanced.qemu_agent,
        "net_queues": advanced.net_queues,
        "disk_discard": advanced.disk_discard,
        "disk_ssd": advanced.disk_ssd,
        "disk_backup": advanced.disk_backup,
        "disk_replicate": advanced.disk_replicate,
        "os_type": advanced.ostype,
        "bridge": advanced.network_bridge,
        "vlan_id": cluster.network.vlan if tagged else None,
        "disk_storage": proxmox.disk_storage,
        "tags": sorted(set(advanced.tags)),
    }


def _image_key(node: Node, version: str, kind: str) -> str:
    assert node.vm
    return f"{node.vm.host}/{node.image.file_name(version, kind)}"


def _images(cluster: Cluster, proxmox: Proxmox) -> dict[str, Any]:
    if proxmox.boot == "template":
        return {}
    kind, version = IMAGE_KIND[proxmox.boot], cluster.talos_version
    found = {
        _image_key(node, version, kind): {
            "host": node.vm.host,
            "content_type": IMAGE_CONTENT[proxmox.boot],
            "file_name": node.image.file_name(version, kind),
            "url": f"{cluster.image_factory_url}/{node.image.path(version, kind)}",
        }
        for node in cluster.nodes
        if node.vm
    }
    return dict(sorted(found.items()))


def _node(cluster: Cluster, node: Node, proxmox: Proxmox) -> dict[str, Any]:
    vm = node.vm
    assert vm
    image = None
    if proxmox.boot != "template":
        image = _image_key(node, cluster.talos_version, IMAGE_KIND[proxmox.boot])
    return {
        "host": vm.host,
        "role": node.role,
        "vm_id": vm.vm_id,
        "mac_address": node.mac,
        "address": node.address,
        "cores": vm.cores,
        "sockets": vm.sockets,
        "memory": vm.memory,
        "disk_size": vm.disk_size,
        "mtu": node.mtu,
        "pool": vm.pool,
        "tpm": vm.tpm,
        "startup_order": vm.startup_order,
        "startup_delay": vm.startup_delay,
        "shutdown_delay": vm.shutdown_delay,
        "gpus": [{"id" if BDF.fullmatch(gpu) else "mapping": gpu} for gpu in node.gpus],
        "image": image,
    }


def hypervisor_values(cluster: Cluster) -> dict[str, Any]:
    given = cluster.hypervisors
    assert given
    return {
        "bridges": {
            f"{node.name}/{bridge.name}": {"host": node.name, **bridge.model_dump()}
            for node in given.nodes
            for bridge in node.bridges
        },
        "vlans": {
            f"{node.name}/{vlan.name}": {"host": node.name, **vlan.model_dump()}
            for node in given.nodes
            for vlan in node.vlans
        },
        "storages": {
            storage.name: {**storage.model_dump(exclude={"name"}), "nodes": storage.nodes or None}
            for storage in given.storages
        },
        "roles": {role.name: sorted(role.privileges) for role in given.roles},
        "users": {user.name: user.comment or "" for user in given.users},
        "tokens": {f"{token.user}!{token.name}": token.model_dump() for token in given.tokens},
        "acls": {
            f"{acl.path} {acl.role} {acl.user or acl.token}": acl.model_dump() for acl in given.acls
        },
        "pci_mappings": {
            mapping.name: mapping.model_dump(exclude={"name"}) for mapping in given.pci_mappings
        },
        "pools": {pool.name: pool.comment or "" for pool in given.pools},
    }


def legacy_values(cluster: Cluster, vm: LegacyVm) -> dict[str, Any]:
    proxmox = cluster.proxmox
    assert proxmox
    kept = vm.model_dump(exclude={"host", "disk_storage", "mac_addr", "bridge", "vlan_tag"})
    return {
        "vm": {
            **kept,
            "host": vm.host or proxmox.node,
            "disk_storage": vm.disk_storage or proxmox.disk_storage,
            "mac_address": vm.mac_addr or derived_mac(cluster.name, vm.name),
            "bridge": vm.bridge or proxmox.advanced.network_bridge,
            "vlan_id": vm.vlan_tag,
            "machine": proxmox.advanced.machine,
            "cpu_type": proxmox.advanced.cpu_type,
            "template_host": proxmox.node,
        }
    }

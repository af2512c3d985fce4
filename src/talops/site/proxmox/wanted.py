"""What Proxmox must provide for the plan of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.inventory.resolve import derived_mac
from talops.proxmox.facts import MappedDevice
from talops.proxmox.wanted import (
    GIB,
    MIB,
    Managed,
    Wanted,
    WantedImage,
    WantedTemplate,
    WantedVm,
)
from talops.render.values import IMAGE_CONTENT, IMAGE_KIND

if TYPE_CHECKING:
    from collections.abc import Collection

    from talops.inventory.model import Cluster, Node, Proxmox
    from talops.inventory.sections import Hypervisors, LegacyVm


def wanted(cluster: Cluster, begun: Collection[str] = ()) -> Wanted:
    """Only for a cluster on Proxmox; `begun`: VMs that an earlier run did not finish."""
    proxmox = cluster.proxmox
    assert proxmox
    vms = [_vm(cluster, proxmox, node) for node in cluster.nodes if node.vm]
    vms += [_legacy(cluster, proxmox, vm) for vm in cluster.legacy]
    vms = [replace(vm, begun=vm.name in begun) for vm in vms]
    first = [proxmox.node] if proxmox.template else []
    return Wanted(
        cluster=cluster.name,
        hosts=tuple(dict.fromkeys([*first, *(vm.host for vm in vms)])),
        vms=tuple(vms),
        images=_images(cluster, proxmox),
        template=_template(cluster, proxmox),
        managed=_managed(cluster.hypervisors),
        static_boot=cluster.network.static_boot,
        guest_agent=proxmox.advanced.qemu_agent,
        clones=bool(proxmox.template) or any(vm.template_vm_id for vm in cluster.legacy),
        media=tuple(sorted({vm.iso.split(":")[0] for vm in cluster.legacy if vm.iso})),
        csi_storages=_csi_storages(cluster, proxmox),
        ccm=cluster.addons.proxmox_ccm,
    )


def _csi_storages(cluster: Cluster, proxmox: Proxmox) -> tuple[str, ...]:
    named = cluster.addons.proxmox_csi_storages or [proxmox.disk_storage]
    return tuple(dict.fromkeys(named)) if cluster.addons.proxmox_csi else ()


def _vm(cluster: Cluster, proxmox: Proxmox, node: Node) -> WantedVm:
    vm = node.vm
    assert vm
    return WantedVm(
        name=node.name,
        host=vm.host,
        vm_id=vm.vm_id,
        mac=node.mac,
        address=str(node.address),
        cores=vm.cores * vm.sockets,
        memory=vm.memory * MIB,
        disk=vm.disk_size * GIB,
        storage=proxmox.disk_storage,
        bridge=proxmox.advanced.network_bridge,
        vlan=cluster.network.vlan if cluster.network.proxmox_tags else None,
        pool=vm.pool,
        gpus=node.gpus,
        where=cluster.where(node),
        cluster_tag=cluster.name,
    )


def _legacy(cluster: Cluster, proxmox: Proxmox, vm: LegacyVm) -> WantedVm:
    """It has the tags of the inventory; the first tag distinguishes it from other VMs."""
    return WantedVm(
        name=vm.name,
        host=vm.host or proxmox.node,
        vm_id=vm.vm_id,
        mac=vm.mac_addr or derived_mac(cluster.name, vm.name),
        address="",
        cores=vm.cores * vm.sockets,
        memory=vm.memory * MIB,
        disk=vm.disk_size * GIB,
        storage=vm.disk_storage or proxmox.disk_storage,
        bridge=vm.bridge or proxmox.advanced.network_bridge,
        vlan=vm.vlan_tag,
        where="cluster.yaml",
        cluster_tag=min(vm.tags) if vm.tags else "",
    )


def _images(cluster: Cluster, proxmox: Proxmox) -> tuple[WantedImage, ...]:
    if proxmox.boot == "template":
        name = template_node(cluster).image.file_name(cluster.talos_version, "qcow2")
        storage = proxmox.iso_storage
        return (WantedImage(proxmox.node, storage, "import", name, for_template=True),)
    kind, content = IMAGE_KIND[proxmox.boot], IMAGE_CONTENT[proxmox.boot]
    found = [
        WantedImage(
            host=node.vm.host,
            storage=proxmox.iso_storage,
            content=content,
            file_name=node.image.file_name(cluster.talos_version, kind),
        )
        for node in cluster.nodes
        if node.vm
    ]
    return tuple(dict.fromkeys(found))


def _template(cluster: Cluster, proxmox: Proxmox) -> WantedTemplate | None:
    if proxmox.template is None:
        return None
    return WantedTemplate(
        name=proxmox.template.name,
        vm_id=proxmox.template.vm_id,
        host=proxmox.node,
        version=cluster.talos_version,
        schematic=template_node(cluster).image.schematic,
        bridge=proxmox.advanced.network_bridge,
    )


def template_node(cluster: Cluster) -> Node:
    """One template serves all nodes, so it contains the extensions that most of them need.

    The other nodes get theirs by an upgrade with Talos' own installer.
    """
    wishes = [node.image.schematic for node in cluster.nodes if node.vm]
    most = max(dict.fromkeys(wishes), key=wishes.count)
    return next(node for node in cluster.nodes if node.vm and node.image.schematic == most)


def _managed(given: Hypervisors | None) -> Managed:
    if given is None:
        return Managed()
    return Managed(
        bridges=frozenset((node.name, b.name) for node in given.nodes for b in node.bridges),
        vlans=frozenset((node.name, v.name) for node in given.nodes for v in node.vlans),
        storages=frozenset(storage.name for storage in given.storages),
        pools=frozenset(pool.name for pool in given.pools),
        mappings={
            mapping.name: tuple(
                MappedDevice(d.node, d.path, d.id, d.iommu_group, d.subsystem_id or "")
                for d in mapping.devices
            )
            for mapping in given.pci_mappings
        },
        roles=bool(given.roles),
        realms=frozenset(user.name.rpartition("@")[2] for user in given.users),
        tokens=bool(given.tokens),
        acl_paths=frozenset(acl.path for acl in given.acls),
    )

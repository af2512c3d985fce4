"""Layer 01: storages, rights and devices that refer to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.inventory.fields import BDF
from talops.inventory.rules import is_bare_metal, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

STORAGE_NEEDS = {
    "dir": ("path",),
    "lvm": ("volume_group",),
    "lvmthin": ("volume_group", "thin_pool"),
    "zfspool": ("zfs_pool",),
    "nfs": ("server", "export"),
}


@rule("storage-settings")
def storage_settings(inv: Inventory) -> Iterator[Violation]:
    for index, storage in enumerate(_of(inv, "storages")):
        for key in STORAGE_NEEDS[storage.type]:
            if getattr(storage, key) is None:
                yield (
                    inv.at.cluster_value("hypervisors", "storages", index),
                    f"storage {storage.name} of type {storage.type} requires {key}",
                    f"add {key}: …",
                )


@rule("duplicate-hypervisor-object")
def objects_once(inv: Inventory) -> Iterator[Violation]:
    for kind in ("nodes", "storages", "roles", "users", "pci_mappings", "pools"):
        seen: set[str] = set()
        for index, item in enumerate(_of(inv, kind)):
            if item.name in seen:
                yield (
                    inv.at.cluster_value("hypervisors", kind, index, "name"),
                    f"{item.name!r} is listed twice under {kind}",
                    "remove one of the two",
                )
            seen.add(item.name)


@rule("acl-subject")
def acl_subject(inv: Inventory) -> Iterator[Violation]:
    for index, acl in enumerate(_of(inv, "acls")):
        if (acl.user is None) == (acl.token is None):
            yield (
                inv.at.cluster_value("hypervisors", "acls", index),
                "an access rule requires either a user or a token",
                "set user: or token:",
            )


@rule("unknown-host")
def hypervisor_hosts(inv: Inventory) -> Iterator[Violation]:
    known = {item.name for item in _of(inv, "nodes")} | {inv.cluster.proxmox_node}
    for index, storage in enumerate(_of(inv, "storages")):
        for slot, host in enumerate(storage.nodes):
            if host not in known:
                place = inv.at.cluster_value("hypervisors", "storages", index, "nodes", slot)
                yield place, f"unknown host {host!r}", "add it under hypervisors: nodes:"
    for index, mapping in enumerate(_of(inv, "pci_mappings")):
        for slot, device in enumerate(mapping.devices):
            if device.node not in known:
                place = inv.at.cluster_value(
                    "hypervisors", "pci_mappings", index, "devices", slot, "node"
                )
                yield (
                    place,
                    f"unknown host {device.node!r}",
                    "add it under hypervisors: nodes:",
                )


@rule("bdf")
def mapping_paths(inv: Inventory) -> Iterator[Violation]:
    for index, mapping in enumerate(_of(inv, "pci_mappings")):
        for slot, device in enumerate(mapping.devices):
            if not BDF.fullmatch(device.path):
                yield (
                    inv.at.cluster_value(
                        "hypervisors", "pci_mappings", index, "devices", slot, "path"
                    ),
                    f"path: {device.path!r} is not a PCI address",
                    'write it like "0000:01:00.0"',
                )


@rule("layers-need-proxmox")
def layers_need_proxmox(inv: Inventory) -> Iterator[Violation]:
    if not is_bare_metal(inv):
        return
    for key in ("hypervisors", "legacy", "boot", "template_vm_id", "pool"):
        if getattr(inv.cluster, key) is not None:
            yield (
                inv.at.cluster_key(key),
                f"{key} requires Proxmox",
                f"set proxmox_api_url and proxmox_node, or remove {key}",
            )


def _of(inv: Inventory, kind: str) -> list[Any]:
    return getattr(inv.cluster.hypervisors, kind) if inv.cluster.hypervisors else []

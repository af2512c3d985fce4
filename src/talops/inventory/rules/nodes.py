"""Names and identities of nodes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from talops.inventory.resolve import STARTUP_ORDER, derived_mac, hosts, on_proxmox
from talops.inventory.rules import rule
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from talops.inventory.files import NodeFile
    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

# Names that Talos, Kubernetes or the templates use for another purpose.
RESERVED = {"localhost", "global", "controller", "worker", "controlplane", "all", "talos"}


def _repeated(inv: Inventory, key: str, of: Callable[[NodeFile], Any]) -> Iterator[Violation]:
    places: dict[Any, list[int]] = defaultdict(list)
    for index, node in enumerate(inv.nodes):
        if (value := of(node)) is not None:
            places[value].append(index)
    for value, indexes in places.items():
        for index in indexes[1:]:
            first = inv.at.node_value(indexes[0], key)
            yield (
                inv.at.node_value(index, key),
                f"{key} {value} is already used in line {first.line}",
                f"every node requires its own {key}",
            )


@rule("duplicate-name")
def names_once(inv: Inventory) -> Iterator[Violation]:
    return _repeated(inv, "name", lambda node: node.name)


@rule("duplicate-mac")
def macs_once(inv: Inventory) -> Iterator[Violation]:
    """A VM without `mac_addr` gets a derived MAC, which may collide with another one."""
    cluster, seen = inv.cluster.cluster_name or "", set[str]()

    def mac(node: NodeFile) -> str | None:
        if node.mac_addr or not node.name or node.name in seen:
            return node.mac_addr
        seen.add(node.name)
        return derived_mac(cluster, node.name)

    return _repeated(inv, "mac_addr", mac)


@rule("duplicate-identity")
def identities_once(inv: Inventory) -> Iterator[Violation]:
    yield from _repeated(inv, "uuid", lambda node: node.uuid)
    yield from _repeated(inv, "fingerprint", lambda node: node.fingerprint)


@rule("duplicate-vmid")
def vmids_once(inv: Inventory) -> Iterator[Violation]:
    return _repeated(inv, "vm_id", lambda node: node.vm_id)


@rule("duplicate-vmid")
def vmids_apart_from_legacy(inv: Inventory) -> Iterator[Violation]:
    taken = {node.vm_id for node in inv.nodes if node.vm_id}
    for index, vm in enumerate(inv.cluster.legacy or []):
        if vm.vm_id in taken:
            yield (
                inv.at.cluster_value("legacy", index, "vm_id"),
                f"VMID {vm.vm_id} is already used",
                "every VM requires its own VMID",
            )
        if vm.vm_id:
            taken.add(vm.vm_id)


@rule("duplicate-name")
def legacy_names_once(inv: Inventory) -> Iterator[Violation]:
    taken = {node.name for node in inv.nodes}
    for index, vm in enumerate(inv.cluster.legacy or []):
        if vm.name in taken:
            yield (
                inv.at.cluster_value("legacy", index, "name"),
                f"name {vm.name} is already used",
                "every VM requires its own name",
            )
        taken.add(vm.name)


@rule("vmid-of-template")
def vmid_not_template(inv: Inventory) -> Iterator[Violation]:
    template = inv.cluster.template_vm_id
    for index, node in enumerate(inv.nodes):
        if template and node.vm_id == template:
            yield (
                inv.at.node_value(index, "vm_id"),
                f"VMID {node.vm_id} is used by the template (template_vm_id)",
                "use another VMID for the node",
            )


@rule("reserved-name")
def no_reserved_name(inv: Inventory) -> Iterator[Violation]:
    for index, node in enumerate(inv.nodes):
        if node.name in RESERVED:
            yield (
                inv.at.node_value(index, "name"),
                f"{node.name!r} is a reserved name",
                "choose another, like k8s-1",
            )


@rule("unknown-host")
def hosts_known(inv: Inventory) -> Iterator[Violation]:
    known = hosts(inv.cluster)
    named = [(inv.at.node_value(i, "host"), node.host) for i, node in enumerate(inv.nodes)]
    named += [
        (inv.at.cluster_value("legacy", i, "host"), vm.host)
        for i, vm in enumerate(inv.cluster.legacy or [])
    ]
    for place, host in named:
        if host and host not in known:
            yield (
                place,
                f"host {host!r} is not a Proxmox node in this inventory",
                f"use {' or '.join(known) or 'proxmox_node'}, or add it under hypervisors: nodes:",
            )


@rule("startup-order", Severity.WARNING)
def control_planes_first(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster):
        return
    orders = [
        node.vm_startup_order if node.vm_startup_order is not None else STARTUP_ORDER[True]
        for node in inv.nodes
        if node.controller
    ]
    for index, node in enumerate(inv.nodes):
        order = node.vm_startup_order
        if node.controller is False and order is not None and orders and order < max(orders):
            yield (
                inv.at.node_value(index, "vm_startup_order"),
                (
                    f"worker {node.name} starts (order {order}) before a control plane "
                    f"(order {max(orders)})"
                ),
                f"use {max(orders) + 1} or more for workers",
            )


@rule("label")
def labels_valid(inv: Inventory) -> Iterator[Violation]:
    from talops.inventory.labels import label_problem

    for index, node in enumerate(inv.nodes):
        for key, value in (node.labels or {}).items():
            if wrong := label_problem(key, value):
                what, hint = wrong
                yield inv.at.node_key(index, "labels", key), what, hint

"""Required keys."""

from __future__ import annotations

from itertools import count as numbers
from typing import TYPE_CHECKING

from talops.inventory.files import REQUIRED_CLUSTER, REQUIRED_NODE
from talops.inventory.rules import PROXMOX_KEYS, is_bare_metal, rule
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

# The first address that is proposed to a node, in its network.
FIRST = 11
EXAMPLES = {
    "cluster_name": "home",
    "talos_version": "v1.14.1",
    "kubernetes_version": "v1.36.3",
    "node_cidr": "10.0.0.0/24",
    "name": "k8s-1",
    "address": "10.0.0.11",
    "controller": "true",
}


@rule("missing-key")
def required_keys(inv: Inventory) -> Iterator[Violation]:
    """A key with an invalid value has its own problem and is not missing."""
    for key in REQUIRED_CLUSTER:
        if not inv.at.gives(key):
            yield inv.at.cluster_key(key), f"{key} is missing", f"add {key}: {EXAMPLES[key]}"
    for index, _ in enumerate(inv.nodes):
        for key in REQUIRED_NODE:
            if not inv.at.node_gives(index, key):
                place = inv.at.node_key(index, key)
                yield place, f"this node has no {key}", f"add {key}: {_example(inv, key)}"


def _example(inv: Inventory, key: str) -> str:
    """A value that can be copied: no other node has it."""
    if key == "name":
        names = {node.name for node in inv.nodes}
        return next(name for n in numbers(1) if (name := f"k8s-{n}") not in names)
    from talops.inventory.rules.network import reserved

    if key == "address" and (network := inv.cluster.node_cidr):
        taken = {*reserved(inv), *(node.address for node in inv.nodes)}
        hosts = (network.network_address + n for n in range(FIRST, network.num_addresses))
        return str(next((host for host in hosts if host not in taken), f"in {network}"))
    return EXAMPLES[key]


@rule("no-nodes")
def some_nodes(inv: Inventory) -> Iterator[Violation]:
    data = inv.at.nodes.data
    entries = data.get("nodes") if isinstance(data, dict) else data
    if not inv.nodes and not entries:
        place = inv.at.nodes.key(("nodes",))
        yield place, "there are no nodes", "add a '- name: …' entry below nodes:"


@rule("no-control-plane")
def a_control_plane(inv: Inventory) -> Iterator[Violation]:
    if inv.nodes and all(node.controller is False for node in inv.nodes):
        place = inv.at.nodes.key(("nodes",))
        yield place, "no node is a control plane", "set controller: true on one, three or five"


@rule("even-control-planes", Severity.WARNING)
def odd_control_planes(inv: Inventory) -> Iterator[Violation]:
    count = sum(node.controller is True for node in inv.nodes)
    if count and count % 2 == 0:
        yield (
            inv.at.nodes.key(("nodes",)),
            f"{count} control planes tolerate no more failures than {count - 1}",
            f"use {count - 1} or {count + 1}: etcd requires a majority",
        )


@rule("vip-missing")
def vip_for_several(inv: Inventory) -> Iterator[Violation]:
    several = sum(node.controller is True for node in inv.nodes) > 1
    if several and not inv.at.gives("cluster_api_addr"):
        yield (
            inv.at.cluster_key(),
            "multiple control planes require a shared address for the Kubernetes API",
            "add cluster_api_addr: a free address in node_cidr",
        )


@rule("bare-metal-keys")
def bare_metal_needs(inv: Inventory) -> Iterator[Violation]:
    """On bare metal the NIC and the disk cannot be derived."""
    if not is_bare_metal(inv):
        return
    for index, _ in enumerate(inv.nodes):
        for key, example in (("mac_addr", "aa:bb:cc:00:00:01"), ("disk", "/dev/sda")):
            if not inv.at.node_gives(index, key):
                yield (
                    inv.at.node_value(index),
                    f"a bare-metal node requires {key}",
                    f"add {key}: {example}, or set proxmox_api_url and proxmox_node",
                )


@rule("half-proxmox")
def both_proxmox_keys(inv: Inventory) -> Iterator[Violation]:
    given = [key for key in PROXMOX_KEYS if inv.at.gives(key)]
    if len(given) == 1:
        missing = next(key for key in PROXMOX_KEYS if key not in given)
        yield (
            inv.at.cluster_key(given[0]),
            f"{given[0]} without {missing}",
            f"add {missing}, or remove {given[0]} for bare metal",
        )

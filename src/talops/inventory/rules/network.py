"""Addresses and networks must be consistent."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from talops.inventory.resolve import POD_CIDR, SVC_CIDR, gateway, on_proxmox
from talops.inventory.rules import rule
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Address, IPv4Network

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

# Kubernetes uses the first addresses of the range for its own services, such as DNS.
SMALLEST_SERVICE_PREFIX = 24
NODE_POD_PREFIX = 24


def _networks(inv: Inventory) -> list[tuple[str, IPv4Network]]:
    file = inv.cluster
    given = [
        ("node_cidr", file.node_cidr),
        ("cluster_pod_cidr", file.cluster_pod_cidr or POD_CIDR),
        ("cluster_svc_cidr", file.cluster_svc_cidr or SVC_CIDR),
    ]
    return [(key, network) for key, network in given if network]


@rule("cidr-overlap")
def networks_apart(inv: Inventory) -> Iterator[Violation]:
    for (first, a), (second, b) in combinations(_networks(inv), 2):
        if a.overlaps(b):
            relation = "is the same as" if a == b else "overlaps"
            given = second if (second,) in inv.at.cluster.keys else first
            yield (
                inv.at.cluster_value(given),
                f"{second} {b} {relation} {first} {a}",
                f"choose a network for {given} that does not overlap the others",
            )


@rule("service-cidr-small")
def service_range(inv: Inventory) -> Iterator[Violation]:
    network = inv.cluster.cluster_svc_cidr
    if network and network.prefixlen > SMALLEST_SERVICE_PREFIX:
        yield (
            inv.at.cluster_value("cluster_svc_cidr"),
            f"{network} has only {network.num_addresses} service addresses",
            f"use /{SMALLEST_SERVICE_PREFIX} or larger, like 10.43.0.0/16",
        )


@rule("pod-cidr-small")
def pod_range(inv: Inventory) -> Iterator[Violation]:
    """Each node uses a /24 of it."""
    network = inv.cluster.cluster_pod_cidr or POD_CIDR
    room = 2 ** (NODE_POD_PREFIX - network.prefixlen) if network.prefixlen <= NODE_POD_PREFIX else 0
    if room < len(inv.nodes):
        yield (
            inv.at.cluster_key("cluster_pod_cidr"),
            f"{network} has a /{NODE_POD_PREFIX} for only {room} of {len(inv.nodes)} nodes",
            "use a larger network for cluster_pod_cidr, like 10.42.0.0/16",
        )


@rule("outside-node-cidr")
def nodes_inside(inv: Inventory) -> Iterator[Violation]:
    network = inv.cluster.node_cidr
    for index, node in enumerate(inv.nodes):
        if network and node.address and node.address not in network:
            yield (
                inv.at.node_value(index, "address"),
                f"{node.address} is outside node_cidr {network}",
                _host_hint(network),
            )


@rule("outside-node-cidr")
def endpoints_inside(inv: Inventory) -> Iterator[Violation]:
    network = inv.cluster.node_cidr
    for key in ("cluster_api_addr", "node_default_gateway"):
        address = getattr(inv.cluster, key)
        if network and address and address not in network:
            yield (
                inv.at.cluster_value(key),
                f"{key} {address} is outside node_cidr {network}",
                _host_hint(network),
            )


def _host_hint(network: IPv4Network) -> str:
    first, last = network.network_address + 1, network.broadcast_address - 1
    return f"use an address from {first} to {last}"


@rule("reserved-address")
def no_reserved_address(inv: Inventory) -> Iterator[Violation]:
    known = reserved(inv)
    for index, node in enumerate(inv.nodes):
        if node.address and (meaning := known.get(node.address)):
            yield (
                inv.at.node_value(index, "address"),
                f"{node.address} is {meaning}",
                "use a different address for the node",
            )


def reserved(inv: Inventory) -> dict[IPv4Address, str]:
    """Addresses that no node can have, and what they are."""
    file, taken = inv.cluster, {}
    if file.node_cidr and file.node_cidr.prefixlen < 31:  # noqa: PLR2004
        taken[file.node_cidr.network_address] = f"the network address of {file.node_cidr}"
        taken[file.node_cidr.broadcast_address] = f"the broadcast address of {file.node_cidr}"
    if default := gateway(file):
        taken[default] = "the default gateway"
    if file.cluster_api_addr:
        taken[file.cluster_api_addr] = "cluster_api_addr, the VIP of the Kubernetes API"
    return taken


@rule("reserved-address")
def no_reserved_vip(inv: Inventory) -> Iterator[Violation]:
    file = inv.cluster
    for key in ("cluster_api_addr", "node_default_gateway"):
        address = getattr(file, key)
        ends = (
            {file.node_cidr.network_address, file.node_cidr.broadcast_address}
            if file.node_cidr and file.node_cidr.prefixlen < 31  # noqa: PLR2004
            else set()
        )
        if address in ends:
            yield (
                inv.at.cluster_value(key),
                f"{key} {address} is the network or broadcast address of {file.node_cidr}",
                "use a host address",
            )
    if file.cluster_api_addr and file.cluster_api_addr == gateway(file):
        yield (
            inv.at.cluster_value("cluster_api_addr"),
            f"cluster_api_addr {file.cluster_api_addr} is the default gateway",
            "use a free address in node_cidr",
        )


@rule("duplicate-address")
def addresses_once(inv: Inventory) -> Iterator[Violation]:
    places: dict[IPv4Address, list[int]] = defaultdict(list)
    for index, node in enumerate(inv.nodes):
        if node.address:
            places[node.address].append(index)
    for address, indexes in places.items():
        for index in indexes[1:]:
            first = inv.at.node_value(indexes[0], "address")
            yield (
                inv.at.node_value(index, "address"),
                f"{address} is already used in line {first.line}",
                "every node requires its own address",
            )


@rule("vlan-unreachable", Severity.WARNING)
def talos_vlan_in_maintenance(inv: Inventory) -> Iterator[Violation]:
    """Without a config a node has no VLAN link and answers only on the untagged network."""
    file = inv.cluster
    if on_proxmox(file) and file.node_vlan_tag and not file.proxmox_vlan_mode:
        yield (
            inv.at.cluster_value("node_vlan_tag"),
            f"Talos creates VLAN {file.node_vlan_tag} only after a node has its config",
            "set proxmox_vlan_mode: true, or make node_cidr reachable untagged for the first boot",
        )

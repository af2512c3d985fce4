"""A machine's network as COSI resources."""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.talos.config.document import link_aliases
from talops.lab.talos.resources import kinds
from talops.lab.talos.resources.store import Item, built

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.lab.machine import Nic
    from talops.lab.talos.machine.node import Node

PREFIX = 24
_ETHER, _UP, _INET4, _PERMANENT = 1, 6, 2, 0x80
_FLAGS = 0x11043  # up, broadcast, running, multicast, lower up
_UNKNOWN = 255
_NO_SPEED = 2**32 - 1  # the values of virtio
_VIEWS = ("current", "routed", "accumulative")


def network(node: Node) -> Iterator[Item]:
    aliases = {mac: name for name, mac in link_aliases(node.config, node.macs).items()}
    for index, nic in enumerate(node.machine.nics):
        yield _link(index, nic, aliases.get(nic.mac.lower(), ""))
    for address in node.addresses:
        yield _address(address)
    yield from _node_addresses(node)
    yield built(
        kinds.HOSTNAME,
        "hostname",
        "network.HostnameStatusSpec",
        {"hostname": node.hostname},
        {"hostname": node.hostname, "domainname": ""},
    )
    yield _status(node)


def netip(address: str) -> dict[str, str]:
    return {"ip": base64.b64encode(ipaddress.ip_address(address).packed).decode()}


def _link(index: int, nic: Nic, alias: str) -> Item:
    mac, mtu = nic.mac.lower(), nic.mtu or 1500
    raw = base64.b64encode(bytes.fromhex(mac.replace(":", ""))).decode()
    fields: dict[str, Any] = {
        "index": index + 2,
        "type": _ETHER,
        "flags": _FLAGS,
        "hardware_addr": raw,
        "permanent_addr": raw,
        "broadcast_addr": base64.b64encode(b"\xff" * 6).decode(),
        "mtu": mtu,
        "queue_disc": "pfifo_fast",
        "operational_state": _UP,
        "driver": "virtio_net",
        "driver_version": "1.0.0",
        "link_state": True,
        "speed_megabits": _NO_SPEED,
        "port": _UNKNOWN,
        "duplex": _UNKNOWN,
        "alias": alias,
    }
    yaml = {
        **({"alias": alias} if alias else {}),
        "index": index + 2,
        "type": "ether",
        "linkIndex": 0,
        "flags": "UP,BROADCAST,RUNNING,MULTICAST,LOWER_UP",
        "hardwareAddr": mac,
        "permanentAddr": mac,
        "broadcastAddr": "ff:ff:ff:ff:ff:ff",
        "mtu": mtu,
        "queueDisc": "pfifo_fast",
        "operationalState": "up",
        "kind": "",
        "slaveKind": "",
        "driver": "virtio_net",
        "driverVersion": "1.0.0",
        "linkState": True,
        "speedMbit": _NO_SPEED,
        "port": "Other",
        "duplex": "Unknown",
    }
    return built(kinds.LINKS, f"eth{index}", "network.LinkStatusSpec", fields, yaml)


def _address(address: str) -> Item:
    fields = {
        "address": {**netip(address), "prefix_length": PREFIX},
        "local": netip(address),
        "link_index": 2,
        "link_name": "eth0",
        "family": _INET4,
        "flags": _PERMANENT,
    }
    yaml = {
        "address": f"{address}/{PREFIX}",
        "linkIndex": 2,
        "linkName": "eth0",
        "family": "inet4",
        "scope": "global",
        "flags": "permanent",
        "priority": 0,
    }
    name = f"eth0/{address}/{PREFIX}"
    return built(kinds.ADDRESSES, name, "network.AddressStatusSpec", fields, yaml)


def _node_addresses(node: Node) -> Iterator[Item]:
    """A configured node also lists its Kubernetes addresses: none here."""
    every = node.addresses
    yield _list_of("default", every[:1])
    for view in _VIEWS:
        yield _list_of(view, every)
        if not node.in_maintenance:
            yield _list_of(f"{view}-no-k8s", every)
            yield _list_of(f"{view}-only-k8s", ())


def _list_of(name: str, addresses: Sequence[str]) -> Item:
    fields = {"addresses": [{**netip(a), "prefix_length": PREFIX} for a in addresses]}
    yaml = {"addresses": [f"{a}/{PREFIX}" for a in addresses], "sortAlgorithm": "v1"}
    return built(kinds.NODE_ADDRESSES, name, "network.NodeAddressSpec", fields, yaml)


def _status(node: Node) -> Item:
    there = bool(node.addresses)
    fields = {
        "address_ready": there,
        "connectivity_ready": there,
        "hostname_ready": True,
        "etc_files_ready": True,
    }
    yaml = {
        "addressReady": there,
        "connectivityReady": there,
        "hostnameReady": True,
        "etcFilesReady": True,
    }
    return built(kinds.NETWORK_STATUS, "status", "network.StatusSpec", fields, yaml)

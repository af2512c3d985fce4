"""Checks of a node's interfaces file, with the errors of Proxmox."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.store import Document

PORTS = ("bridge_ports", "ovs_ports", "slaves", "ovs_bonds")
PARENTS = frozenset({"eth", "bridge", "bond", "vlan"})
VLAN_NAME = re.compile(r"(.+)\.(\d+)")
LINE = "/usr/share/perl5/PVE/Network/Interfaces.pm line"
HIGHEST_TAG, ETHERNET = 4094, 1500


def ports(entry: Document) -> list[str]:
    return [port for key in PORTS for port in split_list(str(entry.get(key) or ""))]


def check_file(entries: dict[str, Document]) -> None:
    for name, entry in entries.items():
        if entry["type"] == "vlan":
            _check_vlan(name, entry, entries)
        elif entry["type"] == "bridge":
            _check_bridge(name, entry, entries)
        elif entry["type"] == "bond":
            _check_bond(name, entry, entries)


def _check_vlan(name: str, entry: Document, entries: dict[str, Document]) -> None:
    dotted = VLAN_NAME.fullmatch(name)
    parent = dotted[1] if dotted else entry.get("vlan-raw-device")
    if not parent:
        raise failed(f"missing vlan-raw-device option at {LINE} 954.")
    named = re.fullmatch(r"vlan(\d+)", name)
    tag = int(dotted[2] if dotted else named[1] if named else entry.get("vlan-id") or 0)
    if not tag:
        raise failed(f"missing vlan-id option at {LINE} 962.")
    if tag > HIGHEST_TAG:
        raise failed(f"vlan '{name}' - vlan-id {tag} should be <= 4094")
    if parent not in entries:
        raise failed(f"vlan '{name}' - unable to find parent '{parent}'")
    kind = entries[parent]["type"]
    if kind not in PARENTS:
        raise failed(
            f"vlan '{name}' - wrong interface type on parent '{parent}' "
            f"('{kind}' != 'eth|bond|bridge|vlan' )"
        )
    _check_mtu(parent, name, entries)


def _check_bridge(name: str, entry: Document, entries: dict[str, Document]) -> None:
    for port in ports(entry):
        if port not in entries and not VLAN_NAME.fullmatch(port):
            raise failed(f"bridge '{name}' - unable to find bridge port '{port}'")
        if entries.get(port, {}).get("address"):
            raise failed(
                f"iface {port} - ip address can't be set on interface if bridged in {name}"
            )
        _check_mtu(port, name, entries)


def _check_bond(name: str, entry: Document, entries: dict[str, Document]) -> None:
    for port in ports(entry):
        if port not in entries:
            raise failed(f"bond '{name}' - unable to find slave '{port}'")
        kind = entries[port]["type"]
        if kind not in {"eth", "bond"}:
            raise failed(
                f"bond '{name}' - wrong interface type on slave '{port}' "
                f"('{kind}' != 'eth or bond')"
            )


def _check_mtu(parent: str, child: str, entries: dict[str, Document]) -> None:
    """An interface below must carry frames as large as those of the interface above."""
    below, wanted = entries.get(parent, {}), int(entries.get(child, {}).get("mtu") or 0)
    default = wanted if below.get("type") == "bond" else ETHERNET
    held = int(below.get("mtu") or default)
    if below and held < wanted:
        raise failed(f"interface '{parent}' - mtu {held} is lower than '{child}' - mtu {wanted}")

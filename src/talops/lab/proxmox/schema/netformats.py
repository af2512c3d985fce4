"""Formats of addresses, networks and names of hosts."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from talops.lab.proxmox.schema.params import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

DNS = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
SHORTEST_NET, LOWEST_TAG, HIGHEST_TAG = 8, 2, 4094


def like(pattern: str, complaint: str) -> Callable[[str], None]:
    compiled = re.compile(pattern)

    def check(value: str) -> None:
        if not compiled.fullmatch(value):
            raise FormatError(complaint.format(value) + "\n")

    return check


def _address(version: int) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not is_address(value, version):
            raise FormatError(f"value does not look like a valid IPv{version} address\n")

    return check


def is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version and "%" not in value
    except ValueError:
        return False


def _is_network(value: str, version: int) -> bool:
    address, separator, length = value.partition("/")
    longest = 32 if version == 4 else 128  # noqa: PLR2004
    return (
        bool(separator)
        and is_address(address, version)
        and bool(re.fullmatch(r"\d+", length))
        and SHORTEST_NET <= int(length) <= longest
    )


def _network(version: int) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not _is_network(value, version):
            raise FormatError(f"value does not look like a valid IPv{version} CIDR network\n")

    return check


def _network_or(version: int, words: set[str]) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in words and not _is_network(value, version):
            raise FormatError(
                f"value does not look like a valid ipv{version} network configuration\n"
            )

    return check


def _any_network(value: str) -> None:
    if not (_is_network(value, 4) or _is_network(value, 6)):
        raise FormatError("value does not look like a valid CIDR network\n")


def _ip(value: str) -> None:
    if not (is_address(value, 4) or is_address(value, 6)):
        raise FormatError("value does not look like a valid IP address\n")


def _netmask(value: str) -> None:
    try:
        ipaddress.ip_network(f"0.0.0.0/{value}")
        good = "." in value and int(ipaddress.ip_address(value)) | 0xFFFFFFFF == 0xFFFFFFFF  # noqa: PLR2004
    except ValueError:
        good = False
    if not good:
        raise FormatError("value does not look like a valid IP netmask\n")


def _host(complaint: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        named = re.fullmatch(rf"(?:{DNS}\.)*{DNS}", value)
        # Perl reads the name "0" as false.
        if value == "0" or not (named or is_address(value, 4) or is_address(value, 6)):
            raise FormatError(complaint.format(value) + "\n")

    return check


def _vlan(value: str) -> None:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
    if not match:
        raise FormatError(f"invalid VLAN configuration '{value}'\n")
    for tag in (text for text in match.groups() if text):
        if not LOWEST_TAG <= int(tag) <= HIGHEST_TAG:
            raise FormatError(f"invalid VLAN tag '{tag}'\n")
    if match[2] and int(match[1]) >= int(match[2]):
        raise FormatError(f"VLAN range must go from lower to higher tag '{value}'\n")


NETWORK_FORMATS: dict[str, Callable[[str], None]] = {
    "CIDR": _any_network,
    "CIDRv4": _network(4),
    "CIDRv6": _network(6),
    "address": _host("value does not look like a valid address: {}"),
    "dns-name": like(rf"(?:{DNS}\.)*{DNS}", "value does not look like a valid DNS name"),
    "ip": _ip,
    "ipv4": _address(4),
    "ipv4mask": _netmask,
    "ipv6": _address(6),
    "mac-addr": like(
        r"[A-Fa-f0-9][02468aceACE](?::[A-Fa-f0-9]{2}){5}",
        "value does not look like a valid unicast MAC address",
    ),
    "pve-bridge-id": like(r"[\w.-]+", "invalid bridge ID '{}'"),
    "pve-iface": like(
        r"[A-Za-z][A-Za-z0-9_]{1,20}(?:[:.]\d+)?", "invalid network interface name '{}'"
    ),
    "pve-ipv4-config": _network_or(4, {"dhcp", "manual"}),
    "pve-ipv6-config": _network_or(6, {"auto", "dhcp", "manual"}),
    "pve-node": like(DNS, "value does not look like a valid node name"),
    "pve-storage-server": _host("value does not look like a valid server name or IP address"),
    "pve-vlan-id-or-range": _vlan,
}

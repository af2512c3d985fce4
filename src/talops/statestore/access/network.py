"""The address of a client, also behind a reverse proxy, and the network that counts for limits."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
FORWARDED = b"x-forwarded-for"
# A single host usually has a whole network of this size.
_IPV6_PREFIX = 64


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    return tuple(_network(text) for text in texts)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise TalopsError(
            f"{text!r} is not an address or a network", hint="use one like 10.0.0.7 or 10.0.0.0/24"
        ) from error


def client_address(
    peer: str, headers: Iterable[tuple[bytes, bytes]], proxies: Sequence[Network]
) -> str:
    """The last address in X-Forwarded-For that no trusted proxy added; without one, the peer.

    Only a trusted proxy may name another address than its own.
    """
    if not proxies or not is_trusted(peer, proxies):
        return peer
    text = b",".join(value for name, value in headers if name == FORWARDED).decode("latin-1")
    found = peer
    for hop in reversed([part.strip() for part in text.split(",") if part.strip()]):
        if _parsed(hop) is None:  # a proxy adds only addresses: the rest is not trustworthy
            break
        found = hop
        if not is_trusted(hop, proxies):
            break
    return found


def network_of(address: str) -> str:
    """One IPv4 address, or the /64 network of an IPv6 address."""
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return address


def is_loopback(host: str) -> bool:
    found = _parsed(host.strip("[]"))
    return host == "localhost" or (found is not None and found.is_loopback)


def is_trusted(address: str, proxies: Sequence[Network]) -> bool:
    found = _parsed(address)
    return found is not None and any(found in network for network in proxies)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

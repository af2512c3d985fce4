"""Network devices, and the addresses that a guest agent reports."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options, tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Remark
from talops.lab.provider.resources.vm import schema
from talops.lab.provider.resources.vm.devices import first
from talops.lab.provider.resources.vm.power import agent_is_on

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values

_FORBIDDEN = 403
_MODELS = ("e1000", "e1000e", "rtl8139", "virtio", "vmxnet3")


def read(config: Values) -> Values:
    last = max((i for i in range(schema.MAX_NETWORKS) if f"net{i}" in config), default=-1)
    devices = [_device(str(config.get(f"net{i}", ""))) for i in range(last + 1)]
    macs = [device.get("mac_address", "") for device in devices]
    return {"network_device": devices, "mac_addresses": macs}


def _device(text: str) -> Values:
    if not text:
        return {}
    told = options.parse(text, "model")
    model = next((name for name in _MODELS if name in told), told.get("model", ""))
    rate = float(told.get("rate", 0))
    return {
        "bridge": told.get("bridge", ""),
        "disconnected": options.flag(told, "link_down", absent=False),
        "enabled": True,
        "firewall": options.flag(told, "firewall", absent=False),
        "mac_address": told.get(model) or told.get("macaddr", ""),
        "model": model,
        "mtu": int(told.get("mtu", 0)),
        "queues": int(told.get("queues", 0)),
        "rate_limit": int(rate) if rate.is_integer() else rate,
        "trunks": told.get("trunks", ""),
        "vlan_id": int(told.get("tag", 0)),
    }


async def read_addresses(call: Call, path: str, config: Values, state: Values) -> Values:
    """Asked of the guest agent if there is one: then a read waits for it, however long."""
    empty: Values = {"ipv4_addresses": [], "ipv6_addresses": [], "network_interface_names": []}
    block = first(state, "agent") or {}
    waiting = first(block, "wait_for_ip") or {}
    if not state.get("started") or not agent_is_on(config) or waiting.get("disabled"):
        return empty
    limit = options.seconds(block.get("timeout") or "15m")
    async for _ in tasks.ticks(limit):
        nics = await _ask(call, path)
        if nics is not None and _enough(nics, waiting):
            return _told(nics)
    call.warnings.append(
        Remark(
            "error waiting for network interfaces from QEMU agent",
            f"the guest agent did not report them within {limit:.0f} s",
        )
    )
    return empty | {"mac_addresses": []}


async def _ask(call: Call, path: str) -> list[Values] | None:
    try:
        data: Any = await call.api.get(f"{path}/agent/network-get-interfaces")
    except ApiError as error:
        if error.code == _FORBIDDEN:
            raise
        return None
    return data.get("result") if data else None


def _enough(nics: list[Values], waiting: Values) -> bool:
    versions = {_version(a) for nic in nics if nic["name"] != "lo" for a in _addresses(nic)}
    needed = {6 if name == "ipv6" else 4 for name in ("ipv4", "ipv6") if waiting.get(name)}
    return needed <= versions if needed else bool(versions & {4, 6})


def _addresses(nic: Values) -> list[Values]:
    return nic.get("ip-addresses") or []


def _version(address: Values) -> int:
    try:
        found = ipaddress.ip_address(address["ip-address"])
    except ValueError:
        return 0
    local = found.is_loopback or found.is_link_local or found.is_multicast
    return 0 if local or found.is_unspecified else found.version


def _told(nics: list[Values]) -> Values:
    def of(kind: str) -> list[list[str]]:
        return [
            [a["ip-address"] for a in _addresses(nic) if a.get("ip-address-type") == kind]
            for nic in nics
        ]

    return {
        "ipv4_addresses": of("ipv4"),
        "ipv6_addresses": of("ipv6"),
        "mac_addresses": [str(nic.get("hardware-address", "")).upper() for nic in nics],
        "network_interface_names": [nic["name"] for nic in nics],
    }

"""The nodes of a Proxmox: version, memory, interfaces, PCI devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.proxmox.facts import Device, Host, Interface

if TYPE_CHECKING:
    from talops.proxmox.client import Client

# All devices, with bridges and processors: a group that a device shares must not look smaller.
NO_CLASS_HIDDEN = "ff"


async def version(client: Client) -> str:
    return str((await client.get("version"))["version"])


async def hosts(client: Client) -> tuple[Host, ...]:
    found = (_host(row) for row in await client.get("nodes"))
    return tuple(sorted(found, key=lambda host: host.name))


def _host(row: dict[str, Any]) -> Host:
    return Host(
        name=row["node"],
        online=row.get("status") == "online",
        cores=_number(row.get("maxcpu")),
        memory=_number(row.get("maxmem")),
        used_memory=_number(row.get("mem")),
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


async def interfaces(client: Client, host: str) -> tuple[Interface, ...]:
    rows = await client.get(f"nodes/{host}/network")
    # Virtual networks of the SDN are listed only on demand.
    rows += await client.get(f"nodes/{host}/network", type="vnet")
    return tuple(sorted((_interface(host, row) for row in rows), key=lambda each: each.name))


def _interface(host: str, row: dict[str, Any]) -> Interface:
    kind = str(row.get("type", ""))
    return Interface(
        name=row["iface"],
        host=host,
        type=kind,
        active=bool(row.get("active")) or kind == "vnet",
        # Open vSwitch and virtual networks are always VLAN-aware.
        vlan_aware=bool(row.get("bridge_vlan_aware")) or kind in {"OVSBridge", "vnet"},
        vlans=str(row.get("bridge_vids", "")),
        address=str(row.get("address") or str(row.get("cidr", "")).split("/")[0]),
        network=str(row.get("cidr", "")),
        gateway=str(row.get("gateway", "")),
    )


async def devices(client: Client, host: str) -> tuple[Device, ...]:
    rows = await client.ask(
        "GET", f"nodes/{host}/hardware/pci", {"pci-class-blacklist": NO_CLASS_HIDDEN}
    )
    return tuple(sorted((_device(host, row) for row in rows), key=lambda each: each.path))


def _device(host: str, row: dict[str, Any]) -> Device:
    group = int(row.get("iommugroup", -1))
    return Device(
        host=host,
        path=_full(row["id"]),
        id=_pair(row.get("vendor"), row.get("device")),
        group=group if group >= 0 else None,
        class_=str(row.get("class", "")).removeprefix("0x"),
        name=str(row.get("device_name", "")),
        subsystem_id=_pair(row.get("subsystem_vendor"), row.get("subsystem_device")),
    )


def _full(path: str) -> str:
    """Proxmox sometimes omits a domain of zeros."""
    return path if path.count(":") > 1 else f"0000:{path}"


def _pair(vendor: str | None, device: str | None) -> str:
    if not vendor or not device:
        return ""
    return f"{vendor.removeprefix('0x')}:{device.removeprefix('0x')}"

"""PCI mappings: one name for a device on every host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.proxmox.facts import MappedDevice, PciMapping
from talops.proxmox.properties import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.proxmox.client import Client
    from talops.proxmox.facts import Device

_GROUP = re.compile(r"[0-9]{1,9}")


async def mappings(client: Client) -> tuple[PciMapping, ...]:
    """Those that the caller may see."""
    found = (
        PciMapping(row["id"], tuple(_device(text) for text in row.get("map", ())))
        for row in await client.get("cluster/mapping/pci")
    )
    return tuple(sorted(found, key=lambda each: each.name))


def _device(text: str) -> MappedDevice:
    entry = parse(text, "id")
    group = entry.get("iommugroup", "")
    return MappedDevice(
        node=entry.get("node", ""),
        path=entry.get("path", ""),
        id=entry.get("id", ""),
        iommu_group=int(group) if _GROUP.fullmatch(group) else None,
        subsystem_id=entry.get("subsystem-id", ""),
    )


def entry(device: Device) -> str:
    """One line of a mapping, with all that Proxmox compares before it assigns a device."""
    parts = {
        "id": device.id,
        "iommugroup": device.group,
        "node": device.host,
        "path": device.path,
        "subsystem-id": device.subsystem_id or None,
    }
    return ",".join(f"{key}={value}" for key, value in parts.items() if value is not None)


async def create(client: Client, name: str, entries: Sequence[str]) -> None:
    await client.ask("POST", "cluster/mapping/pci", {"id": name, "map": list(entries)})

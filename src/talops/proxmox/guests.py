"""The existing VMs and containers, with what can collide: MACs, addresses, devices."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, DeniedError
from talops.proxmox.answers import MissingError
from talops.proxmox.facts import Guest
from talops.proxmox.properties import indexed, parse
from talops.proxmox.wanted import MIB
from talops.shapes import NUMBER, misfit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.proxmox.client import Client

AT_ONCE = 8
KNOWN = frozenset({"running", "stopped"})
DEFAULT_MEMORY = 512  # MiB
FIXED = frozenset({"bridge", "firewall", "link_down", "mtu", "queues", "rate", "tag", "trunks"})


async def guests(client: Client) -> tuple[Guest, ...]:
    """All that the caller may see, by VMID.

    Only the VMIDs of the list are reliable: its other values are up to ten seconds old, and
    missing where Proxmox' pvestatd does not run.
    """
    rows = await client.get("cluster/resources", type="vm")
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(row: dict[str, Any]) -> Guest | None:
        async with gate:
            return await _with_config(client, row)

    found = await asyncio.gather(*(read(row) for row in rows))
    return tuple(sorted((guest for guest in found if guest), key=lambda guest: guest.vm_id))


async def _with_config(client: Client, row: dict[str, Any]) -> Guest | None:
    place = f"nodes/{row['node']}/{row.get('type', 'qemu')}/{row['vmid']}"
    try:
        config = await client.get(f"{place}/config")
        if row.get("status") not in KNOWN:
            current = await client.get(f"{place}/status/current")
            row = {**row, "status": current["status"]}
    except MissingError:
        return None  # removed since it was listed
    except DeniedError:
        return _unreadable(row)
    return _guest(row, config)


def _unreadable(row: dict[str, Any]) -> Guest:
    return Guest(
        vm_id=int(row["vmid"]),
        name=str(row.get("name", "")),
        host=row["node"],
        running=row.get("status") == "running",
        template=bool(row.get("template")),
        cores=int(row.get("maxcpu", 0)),
        memory=int(row.get("maxmem", 0)),
        macs=None,
    )


def _guest(row: dict[str, Any], config: dict[str, Any]) -> Guest:
    nets = [parse(text, "model") for text in indexed(config, "net")]
    tags = str(config.get("tags", "")).replace(",", ";")
    return Guest(
        vm_id=int(row["vmid"]),
        name=str(config.get("name") or config.get("hostname", "")),
        host=row["node"],
        running=row.get("status") == "running",
        template=bool(config.get("template")),
        tags=frozenset(tag for tag in tags.split(";") if tag),
        cores=int(config.get("cores", 1)) * int(config.get("sockets", 1)),
        memory=_memory(config) * MIB,
        macs=frozenset(mac for net in nets for mac in _macs(net)),
        addresses=frozenset(_addresses(config, nets)),
        devices=tuple(_devices(config)),
        description=str(config.get("description", "")),
        efi_disk="efidisk0" in config,
        uuid=parse(str(config.get("smbios1", "")), "uuid").get("uuid", "").lower(),
        lock=str(config.get("lock", "")),
    )


def _memory(config: dict[str, Any]) -> int:
    """A number, or `current=` and a number; what is neither counts as not set."""
    found = parse(config.get("memory", DEFAULT_MEMORY), "current").get("current")
    return DEFAULT_MEMORY if found is None or misfit(found, NUMBER) else int(found)


def _macs(net: dict[str, str]) -> Iterable[str]:
    """VMs write model=MAC, containers hwaddr=MAC."""
    return [v.upper() for k, v in net.items() if k not in FIXED and v.count(":") == 5]  # noqa: PLR2004  (of a MAC)


def _addresses(config: dict[str, Any], nets: list[dict[str, str]]) -> Iterable[str]:
    clouds = [parse(text, "ip") for text in indexed(config, "ipconfig")]
    given = [entry.get("ip", "") for entry in [*clouds, *nets]]
    return [text.split("/")[0] for text in given if text and text[0].isdigit()]


def _devices(config: dict[str, Any]) -> Iterable[str]:
    for text in indexed(config, "hostpci"):
        device = parse(text, "host")
        if "mapping" in device:
            yield device["mapping"]
        else:
            yield from device.get("host", "").split(";")


async def hidden(client: Client, vm_ids: Iterable[int]) -> frozenset[int]:
    """VMIDs of VMs that the caller may not see.

    A VM that is created or removed meanwhile, as after a killed run, is not hidden: it is in a
    list read after its VMID was taken, or the VMID is free after the list.
    """
    taken = [vm_id for vm_id in vm_ids if await is_taken(client, vm_id)]
    if not taken:
        return frozenset()
    shown = {int(row["vmid"]) for row in await client.get("cluster/resources", type="vm")}
    left = [vm_id for vm_id in taken if vm_id not in shown]
    return frozenset([vm_id for vm_id in left if await is_taken(client, vm_id)])


async def is_taken(client: Client, vm_id: int) -> bool:
    """Also true for a VM that the caller may not see."""
    try:
        await client.get("cluster/nextid", vmid=vm_id)
    except ConflictError:
        return True
    return False


async def next_id(client: Client) -> int:
    return int(await client.get("cluster/nextid"))

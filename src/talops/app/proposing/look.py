"""Read from a Proxmox what a new cluster could use. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError
from talops.proxmox import guests, mappings, nodes, storage
from talops.proxmox.answers import LoginError
from talops.proxmox.client import Client
from talops.proxmox.facts import Unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.proxmox.client import Access
    from talops.proxmox.facts import Device, Guest, Host, Interface, PciMapping, Storage

FIRST, LAST, STEP = 100, 9900, 100


@dataclass(frozen=True)
class Stock:
    """Hosts are online. `devices` and `mappings` need privileges that nothing else needs."""

    who: str
    hosts: tuple[Host, ...]
    storages: tuple[Storage, ...]
    interfaces: tuple[Interface, ...]
    guests: tuple[Guest, ...]
    devices: tuple[Device, ...] | Unread
    mappings: tuple[PciMapping, ...] | Unread
    vm_id_base: int  # VMIDs base + number are free for each asked number


async def look(access: Access, numbers: Sequence[int]) -> Stock:
    """`numbers`: of the nodes, like 11 for the first control plane; its VMID is base + 11."""
    async with Client(access) as client:
        online = tuple(host for host in await nodes.hosts(client) if host.online)
        if not online:
            raise DeniedError(
                f"{access.who} may not see any Proxmox node that is online",
                where=access.endpoint,
                hint="talops init --from-proxmox URL --user root@pam",
            )
        names = [host.name for host in online]
        there = await guests.guests(client)
        return Stock(
            who=access.who,
            hosts=online,
            storages=tuple([s for name in names for s in await storage.storages(client, name)]),
            interfaces=tuple([i for name in names for i in await nodes.interfaces(client, name)]),
            guests=there,
            devices=await _devices(client, names),
            mappings=await _mappings(client),
            vm_id_base=await _free_base(client, numbers, {guest.vm_id for guest in there}),
        )


async def _devices(client: Client, hosts: Sequence[str]) -> tuple[Device, ...] | Unread:
    try:
        return tuple([device for host in hosts for device in await nodes.devices(client, host)])
    except LoginError:
        raise
    except DeniedError as error:
        return Unread(error.what, error.hint)


async def _mappings(client: Client) -> tuple[PciMapping, ...] | Unread:
    try:
        return await mappings.mappings(client)
    except LoginError:
        raise
    except DeniedError as error:
        return Unread(error.what, error.hint)


async def _free_base(client: Client, numbers: Sequence[int], shown: set[int]) -> int:
    """VMs that the caller may not see count too: Proxmox says whether a VMID is free."""
    for base in range(FIRST, LAST + 1, STEP):
        ids = [base + number for number in numbers]
        if shown.isdisjoint(ids) and not any([await guests.is_taken(client, i) for i in ids]):
            return base
    raise TalopsError(
        f"no block of {STEP} VMIDs between {FIRST} and {LAST + STEP} is free for all nodes",
        where=client.access.endpoint,
        hint="create the inventory without --from-proxmox and choose the VMIDs yourself",
    )

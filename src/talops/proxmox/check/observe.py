"""Reads the state of a Proxmox, one family at a time: one refusal does not hide the rest."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from talops.errors import TalopsError, UnreachableError
from talops.proxmox import accounts, certificate, guests, mappings, nodes, storage
from talops.proxmox.answers import LoginError
from talops.proxmox.client import Client, Password
from talops.proxmox.facts import Facts, Unread
from talops.proxmox.rights import needs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from talops.proxmox.client import Access
    from talops.proxmox.facts import Device, Guest, Held, Interface, Storage
    from talops.proxmox.wanted import Wanted

T = TypeVar("T")


async def observe(client: Client, wanted: Wanted) -> Facts:
    access = client.access
    seen_hosts, seen_guests, held = await asyncio.gather(
        _try(nodes.hosts(client)),
        _try(guests.guests(client)),
        _try(_permissions(client, _paths(wanted))),
    )
    online = wanted.hosts
    if not isinstance(seen_hosts, Unread):
        online = tuple(host.name for host in seen_hosts if host.online and host.name in online)
    return Facts(
        now=datetime.now(UTC),
        endpoint=access.endpoint,
        who=access.who,
        by_password=isinstance(access.login, Password),
        insecure=access.insecure,
        certificate=await _try(certificate.look(access)),
        version=await _try(nodes.version(client)),
        permissions=held,
        roles=await _try(accounts.roles(client)),
        hosts=seen_hosts,
        storages=await _try(_storages(client, online)),
        interfaces=await _try(_interfaces(client, online)),
        devices=await _try(_devices(client, wanted, online)),
        mappings=await _try(mappings.mappings(client)),
        guests=seen_guests,
        hidden_ids=await _hidden(client, wanted, seen_guests),
        images=await _try(_images(client, wanted, online)),
    )


async def look(access: Access, wanted: Wanted) -> Facts:
    """`observe`, also when Proxmox rejects the credentials or does not answer."""
    try:
        async with Client(access) as client:
            await nodes.version(client)  # first: does it answer, and accept the credentials?
            return await observe(client, wanted)
    except (LoginError, UnreachableError) as error:
        return await _shut(access, error)


async def _shut(access: Access, error: TalopsError) -> Facts:
    unread = Unread(error.what, error.hint)
    return Facts(
        now=datetime.now(UTC),
        endpoint=access.endpoint,
        who=access.who,
        by_password=isinstance(access.login, Password),
        insecure=access.insecure,
        certificate=await _try(certificate.look(access)),
        version=unread,
    )


async def _try(reading: Awaitable[T]) -> T | Unread:
    try:
        return await reading
    except LoginError:
        raise  # every other call would fail in the same way
    except TalopsError as error:
        return Unread(error.what, error.hint)


def _paths(wanted: Wanted) -> tuple[str, ...]:
    asked = needs(wanted)
    others = [path for need in asked for path, _ in need.instead]
    return tuple(dict.fromkeys([*(need.path for need in asked), *others]))


async def _permissions(client: Client, paths: Iterable[str]) -> Held:
    """Asks path by path: only then does Proxmox compute what propagates to it."""
    found: dict[str, dict[str, bool]] = {}
    for path in paths:
        answer = await client.get("access/permissions", path=path)
        found[path] = {name: bool(deep) for name, deep in answer.get(path, {}).items()}
    return found


async def _storages(client: Client, hosts: Iterable[str]) -> tuple[Storage, ...]:
    found = [await storage.storages(client, host) for host in hosts]
    return tuple(each for part in found for each in part)


async def _interfaces(client: Client, hosts: Iterable[str]) -> tuple[Interface, ...]:
    found = [await nodes.interfaces(client, host) for host in hosts]
    return tuple(each for part in found for each in part)


async def _devices(client: Client, wanted: Wanted, online: Iterable[str]) -> tuple[Device, ...]:
    """Only for hosts whose VMs get a device: the list needs privileges that no other call needs."""
    using = {vm.host for vm in wanted.vms if vm.gpus}
    found = [await nodes.devices(client, host) for host in online if host in using]
    return tuple(each for part in found for each in part)


async def _hidden(
    client: Client, wanted: Wanted, seen: tuple[Guest, ...] | Unread
) -> frozenset[int]:
    known = set() if isinstance(seen, Unread) else {guest.vm_id for guest in seen}
    planned = {vm.vm_id for vm in wanted.vms if vm.vm_id is not None} - known
    if wanted.template:
        planned |= {wanted.template.vm_id} - known
    return await guests.hidden(client, sorted(planned))


async def _images(client: Client, wanted: Wanted, online: Iterable[str]) -> frozenset[str]:
    places = {(image.host, image.storage) for image in wanted.images if image.host in online}
    found: set[str] = set()
    for host, name in sorted(places):
        found |= {f"{host}/{volume}" for volume in await storage.files(client, host, name)}
    return frozenset(found)

"""Which of the objects that layer 01 can manage exist: storages, networks, access, mappings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from talops.proxmox import accounts, mappings, nodes
from talops.proxmox.answers import MissingError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from talops.proxmox.accounts import Rule
    from talops.proxmox.client import Client


@dataclass(frozen=True)
class Asked:
    """Names of what is asked for; lists that nothing is asked of are not read."""

    hosts: frozenset[str] = frozenset()
    storages: frozenset[str] = frozenset()
    roles: bool = False
    users: frozenset[str] = frozenset()
    acls: bool = False
    mappings: bool = False
    pools: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Settings:
    """`storages` and `interfaces` (HOST/NAME): the type of each; `users`: the tokens of each."""

    storages: Mapping[str, str] = field(default_factory=dict)
    interfaces: Mapping[str, str] = field(default_factory=dict)
    roles: frozenset[str] = frozenset()
    users: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rules: frozenset[Rule] = frozenset()
    mappings: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()


async def settings(client: Client, asked: Asked) -> Settings:
    users: dict[str, frozenset[str]] = {}
    for user in sorted(asked.users):
        if await accounts.has_user(client, user):
            users[user] = frozenset(await accounts.tokens(client, user))
    return Settings(
        storages=await _storages(client, asked.storages),
        interfaces={
            f"{each.host}/{each.name}": each.type
            for host in sorted(asked.hosts)
            for each in await nodes.interfaces(client, host)
        },
        roles=frozenset(await accounts.roles(client)) if asked.roles else frozenset(),
        users=users,
        rules=await accounts.rules(client) if asked.acls else frozenset(),
        mappings=frozenset([m.name for m in await mappings.mappings(client)])
        if asked.mappings
        else frozenset(),
        pools=await _pools(client, asked.pools),
    )


async def _storages(client: Client, names: Collection[str]) -> dict[str, str]:
    """Storages as they are configured, also where no node has them active."""
    found = {}
    for name in sorted(names):
        try:
            found[name] = str((await client.get(f"storage/{quote(name)}"))["type"])
        except MissingError:
            continue
    return found


async def _pools(client: Client, names: Collection[str]) -> frozenset[str]:
    found = set()
    for name in sorted(names):
        try:
            await client.get("pools", poolid=name)
        except MissingError:
            continue
        found.add(name)
    return frozenset(found)

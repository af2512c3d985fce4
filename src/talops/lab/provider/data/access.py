"""Who is known to Proxmox, and what pools there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.kinds import Call, DataSource
from talops.lab.provider.resources.access import from_epoch
from talops.lab.provider.schema import Attribute, Block

if TYPE_CHECKING:
    from talops.lab.provider.values import Type, Values

_ID = Attribute(computed=True)


def _all(kind: Type) -> Attribute:
    return Attribute(["list", kind], readonly=True)


async def _list(call: Call, path: str, key: str) -> list[Values]:
    found: Any = await call.api.get(path)
    return sorted(found or [], key=lambda entry: str(entry[key]))


class Roles(DataSource):
    name = "proxmox_virtual_environment_roles"
    block = Block(
        {
            "id": _ID,
            "privileges": _all(["set", "string"]),
            "role_ids": _all("string"),
            "special": _all("bool"),
        }
    )

    async def read(self, call: Call, _config: Values) -> Values:
        found = await _list(call, "/access/roles", "roleid")
        return {
            "id": "roles",
            "privileges": [_names(role.get("privs")) for role in found],
            "role_ids": [role["roleid"] for role in found],
            "special": [options.truth(role.get("special"), absent=False) for role in found],
        }


class Groups(DataSource):
    name = "proxmox_virtual_environment_groups"
    block = Block({"comments": _all("string"), "group_ids": _all("string"), "id": _ID})

    async def read(self, call: Call, _config: Values) -> Values:
        found = await _list(call, "/access/groups", "groupid")
        return {
            "id": "groups",
            "comments": [group.get("comment") or "" for group in found],
            "group_ids": [group["groupid"] for group in found],
        }


class Users(DataSource):
    name = "proxmox_virtual_environment_users"
    block = Block(
        {
            "comments": _all("string"),
            "emails": _all("string"),
            "enabled": _all("bool"),
            "expiration_dates": _all("string"),
            "first_names": _all("string"),
            "groups": _all(["list", "string"]),
            "id": _ID,
            "keys": _all("string"),
            "last_names": _all("string"),
            "user_ids": _all("string"),
        }
    )

    async def read(self, call: Call, _config: Values) -> Values:
        found = await _list(call, "/access/users", "userid")
        texts = {
            "comments": "comment",
            "emails": "email",
            "first_names": "firstname",
            "keys": "keys",
            "last_names": "lastname",
        }
        return {
            **{name: [user.get(key) or "" for user in found] for name, key in texts.items()},
            "enabled": [options.truth(user.get("enable"), absent=True) for user in found],
            "expiration_dates": [from_epoch(user.get("expire") or 0) for user in found],
            "groups": [_names(user.get("groups")) for user in found],
            "id": "users",
            "user_ids": [user["userid"] for user in found],
        }


class Pools(DataSource):
    name = "proxmox_virtual_environment_pools"
    block = Block({"id": _ID, "pool_ids": _all("string")})

    async def read(self, call: Call, _config: Values) -> Values:
        found = await _list(call, "/pools", "poolid")
        return {"id": "pools", "pool_ids": [pool["poolid"] for pool in found]}


def _names(value: Any) -> list[str]:
    """Proxmox tells lists as text here and as lists there."""
    names = value.split(",") if isinstance(value, str) else value or []
    return [name for name in names if name]

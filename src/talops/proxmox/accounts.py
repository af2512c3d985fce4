"""Roles, users, tokens and access rules: what `pveum` does, over the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from talops.proxmox.answers import MissingError
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.proxmox.client import Client
    from talops.proxmox.rights import Grant

_YEAR_10000 = 253402300800


@dataclass(frozen=True)
class Rule:
    """One entry of the access control list."""

    path: str
    role: str
    who: str
    propagate: bool


async def roles(client: Client) -> dict[str, frozenset[str]]:
    return {
        row["roleid"]: frozenset(name for name in str(row.get("privs") or "").split(",") if name)
        for row in await client.get("access/roles")
    }


async def set_role(client: Client, name: str, privileges: Iterable[str], *, new: bool) -> None:
    listed = ",".join(sorted(privileges))
    if new:
        await client.ask("POST", "access/roles", {"roleid": name, "privs": listed})
    else:
        await client.ask("PUT", f"access/roles/{quote(name)}", {"privs": listed})


async def has_user(client: Client, user: str) -> bool:
    try:
        await client.get(f"access/users/{quote(user, safe='@')}")
    except MissingError:
        return False
    return True


async def add_user(client: Client, user: str, comment: str) -> None:
    await client.ask("POST", "access/users", {"userid": user, "comment": comment})


async def tokens(client: Client, user: str) -> dict[str, bool]:
    """The user's tokens, and whether each has separate privileges only."""
    rows = await client.get(f"access/users/{quote(user, safe='@')}/token")
    return {row["tokenid"]: bool(row.get("privsep", 1)) for row in rows}


async def token_end(client: Client, user: str, name: str) -> datetime | None:
    """None: it never ends."""
    path = f"access/users/{quote(user, safe='@')}/token/{quote(name)}"
    end = int((await client.get(path) or {}).get("expire") or 0)
    # Proxmox stores any number; Python knows no later year.
    return datetime.fromtimestamp(end, UTC) if 0 < end < _YEAR_10000 else None


async def add_token(client: Client, user: str, name: str, comment: str) -> Secret:
    """Proxmox shows the value only once."""
    path = f"access/users/{quote(user, safe='@')}/token/{quote(name)}"
    answer = await client.ask("POST", path, {"privsep": 0, "comment": comment})
    return Secret(answer["value"])


async def remove_token(client: Client, user: str, name: str) -> None:
    await client.ask("DELETE", f"access/users/{quote(user, safe='@')}/token/{quote(name)}")


async def rules(client: Client) -> frozenset[Rule]:
    return frozenset(
        Rule(row["path"], row["roleid"], row["ugid"], bool(row.get("propagate", 1)))
        for row in await client.get("access/acl")
    )


async def grant(client: Client, given: Grant, user: str) -> None:
    params = {
        "path": given.path,
        "roles": given.role,
        "users": user,
        "propagate": int(given.propagate),
    }
    await client.ask("PUT", "access/acl", params)

"""Evaluation of ACLs: roles along the path, users before groups, tokens limited by their user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.privileges import PRIVILEGES, ROLES

if TYPE_CHECKING:
    from talops.lab.proxmox.store import Document, Store, Table

Held = dict[str, int]  # privilege → whether it propagates


def acl_key(entry: dict[str, Any]) -> str:
    return f"{entry['path']} {entry['type']} {entry['ugid']} {entry['roleid']}"


class Rights:
    """Evaluates ACLs as Proxmox does, and caches the results until something changes."""

    def __init__(
        self,
        store: Store,
        *,
        users: Table[Document],
        tokens: Table[Document],
        roles: Table[Document],
        acl: Table[Document],
        pools: Table[Document],
    ) -> None:
        self._store = store
        self._users, self._tokens, self._roles = users, tokens, roles
        self._acl, self._pools = acl, pools
        self._cache: dict[tuple[str, str], Held] = {}
        self._by_path: dict[str, list[Document]] = {}
        self._version = -1
        self.version = 0  # incremented by every change of users, roles, ACLs, tokens or pools

    def changed(self) -> None:
        self.version += 1

    def privileges(self, who: str, path: str) -> Held:
        if self._version != self.version:
            self._rebuild()
        key = (who, path)
        held = self._cache.get(key)
        if held is None:
            held = self._cache[key] = self._compute(who, path)
        return held

    def role(self, name: str) -> frozenset[str]:
        if name in ROLES:
            return ROLES[name]
        custom = self._roles.get(name)
        return frozenset(custom["privs"]) if custom else frozenset()

    def _rebuild(self) -> None:
        self._cache.clear()
        self._by_path = {}
        for entry in self._acl.values():
            self._by_path.setdefault(entry["path"], []).append(entry)
        self._version = self.version

    def _compute(self, who: str, path: str) -> Held:
        if who == "root@pam":
            return dict.fromkeys(PRIVILEGES, 1)
        user, _, token = who.partition("!")
        if not token:
            return self._with_pools(who, path)
        if not self._tokens.get(who) or not self._tokens[who]["privsep"]:
            return self._compute(user, path) if who in self._tokens else {}
        limit = self._compute(user, path)
        own = self._with_pools(who, path)
        return {name: deep and limit[name] for name, deep in own.items() if name in limit}

    def _with_pools(self, who: str, path: str) -> Held:
        """A pool's roles apply to its members too, but propagate no further."""
        roles = self._roles_on(who, path)
        if "NoAccess" in roles or not path.startswith(("/vms/", "/storage/")):
            return self._expand(roles)
        for pool in self._pools_of(path):
            lent = self._roles_on(who, f"/pool/{pool}")
            if "NoAccess" in lent:
                return {}
            roles = {**dict.fromkeys(lent, 0), **roles}
        return self._expand(roles)

    def _pools_of(self, path: str) -> list[str]:
        _, area, name = path.split("/", 2)
        kind = "vms" if area == "vms" else "storages"
        return [pool["poolid"] for pool in self._pools.values() if name in map(str, pool[kind])]

    def _expand(self, roles: dict[str, int]) -> Held:
        held: Held = {}
        for role, deep in roles.items():
            for name in self.role(role):
                held[name] = max(held.get(name, 0), deep)
        return held

    def _roles_on(self, who: str, path: str) -> dict[str, int]:
        """Each level with an entry for the caller replaces the entries of the levels above."""
        roles: dict[str, int] = {}
        for prefix in _prefixes(path):
            here = self._entries(who, prefix, final=prefix == path)
            if here:
                roles = here
        return {"NoAccess": roles["NoAccess"]} if "NoAccess" in roles else roles

    def _entries(self, who: str, path: str, *, final: bool) -> dict[str, int]:
        entries = [e for e in self._by_path.get(path, ()) if final or e["propagate"]]
        kind = "token" if "!" in who else "user"
        own = {
            e["roleid"]: e["propagate"] for e in entries if (e["type"], e["ugid"]) == (kind, who)
        }
        if own or kind == "token":
            return own
        groups = str((self._users.get(who) or {}).get("groups", "")).split(",")
        return {
            e["roleid"]: e["propagate"]
            for e in entries
            if e["type"] == "group" and e["ugid"] in groups
        }


def _prefixes(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/", *("/" + "/".join(parts[: n + 1]) for n in range(len(parts)))]

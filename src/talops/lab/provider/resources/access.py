"""Users, groups and roles."""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Resource, refuse
from talops.lab.provider.planning import changed
from talops.lab.provider.schema import Attribute, Block

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_STRINGS = ["set", "string"]
NEVER = "1970-01-01T00:00:00Z"


class _Entry(Resource):
    """Something under /access with a name of its own that is also its id."""

    legacy = True
    path: ClassVar[str]
    key: ClassVar[str]  # of the name, in Proxmox
    identity: ClassVar[str]  # of the name, in the configuration

    @abstractmethod
    def form(self, planned: Values) -> dict[str, str]: ...

    @abstractmethod
    def told(self, found: Any) -> Values: ...

    async def create(self, call: Call, planned: Values) -> Values:
        name = planned[self.identity]
        form = {self.key: name, **self.form(planned), **self.first_time(planned)}
        await call.api.call("POST", self.path, form)
        call.saved = {**planned, "id": name}
        return await self.found(call, call.saved)

    def first_time(self, _planned: Values, /) -> dict[str, str]:
        return {}

    async def read(self, call: Call, state: Values) -> Values | None:
        try:
            found = await call.api.get(self._path(state["id"]))
        except ApiError as error:
            if error.gone:
                return None
            raise
        return {**state, self.identity: state["id"], **self.told(found)}

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        await call.api.call("PUT", self._path(prior["id"]), self.form(planned))
        return await self.found(call, planned)

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.remove(self._path(prior["id"]))

    def _path(self, name: str) -> str:
        return f"{self.path}/{quote(name, safe='@')}"


class Role(_Entry):
    name = "proxmox_virtual_environment_role"
    path, key, identity = "/access/roles", "roleid", "role_id"
    block = Block(
        {
            "id": Attribute(computed=True),
            "privileges": Attribute(_STRINGS, required=True),
            "role_id": Attribute(required=True, force_new=True),
        }
    )

    def form(self, planned: Values) -> dict[str, str]:
        return {"privs": ",".join(planned["privileges"] or [])}

    def told(self, found: Any) -> Values:
        return {"privileges": sorted(name for name, on in (found or {}).items() if on)}


class Group(_Entry):
    name = "proxmox_virtual_environment_group"
    path, key, identity = "/access/groups", "groupid", "group_id"
    block = Block(
        {
            "comment": Attribute(default=""),
            "group_id": Attribute(required=True, force_new=True),
            "id": Attribute(computed=True),
            "members": Attribute(_STRINGS, readonly=True),
        }
    )

    def form(self, planned: Values) -> dict[str, str]:
        return {"comment": planned["comment"]}

    def told(self, found: Any) -> Values:
        members = found.get("members") or []
        return {"comment": found.get("comment") or "", "members": sorted(members)}


class User(_Entry):
    name = "proxmox_virtual_environment_user"
    path, key, identity = "/access/users", "userid", "user_id"
    block = Block(
        {
            "comment": Attribute(default=""),
            "email": Attribute(default=""),
            "enabled": Attribute("bool", default=True),
            "expiration_date": Attribute(default=NEVER),
            "first_name": Attribute(default=""),
            "groups": Attribute(_STRINGS),
            "id": Attribute(computed=True),
            "keys": Attribute(default=""),
            "last_name": Attribute(default=""),
            "password": Attribute(sensitive=True),
            "user_id": Attribute(required=True, force_new=True),
        }
    )
    _TEXTS: ClassVar = {
        "comment": "comment",
        "email": "email",
        "first_name": "firstname",
        "keys": "keys",
        "last_name": "lastname",
    }

    def form(self, planned: Values) -> dict[str, str]:
        out = {key: planned[name] for name, key in self._TEXTS.items()}
        out["enable"] = "1" if planned["enabled"] else "0"
        out["expire"] = str(to_epoch(planned["expiration_date"]))
        return out | {"groups": ",".join(planned["groups"] or [])}

    def first_time(self, planned: Values) -> dict[str, str]:
        return {"password": planned["password"]} if planned["password"] else {}

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        state = await super().update(call, prior, planned)
        if changed(prior, planned, "password"):
            form = {"userid": planned["user_id"], "password": planned["password"] or ""}
            await call.api.call("PUT", "/access/password", form)
        return state

    def told(self, found: Any) -> Values:
        groups = found.get("groups") or []
        names = groups.split(",") if isinstance(groups, str) else groups
        return {
            **{name: found.get(key) or "" for name, key in self._TEXTS.items()},
            "enabled": bool(found.get("enable", 1)),
            "expiration_date": from_epoch(found.get("expire") or 0),
            "groups": sorted(name for name in names if name),
        }


def to_epoch(text: str) -> int:
    try:
        return int(dt.datetime.fromisoformat(text).timestamp())
    except ValueError:
        refuse(f"expected a date such as {NEVER}, got {text!r}")


def from_epoch(seconds: int) -> str:
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

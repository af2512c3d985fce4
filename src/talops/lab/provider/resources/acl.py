"""proxmox_acl: one role on one path for one user, group or token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.provider.kinds import Call, Resource, refuse
from talops.lab.provider.schema import Attribute, Block
from talops.lab.provider.values import UNKNOWN

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_WHO = {"group_id": "group", "token_id": "token", "user_id": "user"}


class Acl(Resource):
    name = "proxmox_acl"
    block = Block(
        {
            "group_id": Attribute(force_new=True),
            "id": Attribute(readonly=True, keep=True),
            "path": Attribute(required=True, force_new=True),
            "propagate": Attribute("bool", computed=True, default=True),
            "role_id": Attribute(required=True, force_new=True),
            "token_id": Attribute(force_new=True),
            "user_id": Attribute(force_new=True),
        }
    )

    def validate(self, config: Values) -> list[str]:
        given = [config[name] for name in _WHO if config[name] is not None]
        if len(given) > 1 and UNKNOWN not in given:
            return ["only one of group_id, token_id and user_id can be set"]
        return []

    async def create(self, call: Call, planned: Values) -> Values:
        await call.api.call("PUT", "/access/acl", _form(planned))
        who = "".join(planned[name] or "" for name in _WHO)
        return {**planned, "id": f"{planned['path']}?{who}?{planned['role_id']}"}

    async def read(self, call: Call, state: Values) -> Values | None:
        for entry in await call.api.get("/access/acl") or []:
            who = next((name for name, kind in _WHO.items() if kind == entry["type"]), None)
            if who is None or entry["ugid"] != state[who]:
                continue
            if entry["path"] == state["path"] and entry["roleid"] == state["role_id"]:
                return {**state, "propagate": bool(entry.get("propagate", 1))}
        return None

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        await self.delete(call, prior)
        await call.api.call("PUT", "/access/acl", _form(planned))
        return planned

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.call("PUT", "/access/acl", {**_form(prior), "delete": "1"})

    async def adopt(self, _call: Call, identity: str) -> Values:
        parts = identity.split("?")
        if len(parts) != 3:  # noqa: PLR2004  (path, who, role)
            refuse(f"expected PATH?WHO?ROLE to import, got {identity!r}")
        path, who, role = parts
        kind = "token_id" if "!" in who else "user_id" if "@" in who else "group_id"
        return {"id": identity, "path": path, kind: who, "role_id": role, "propagate": False}


def _form(planned: Values) -> dict[str, str]:
    out = {"path": planned["path"], "roles": planned["role_id"]}
    out["propagate"] = "1" if planned["propagate"] else "0"
    return out | {f"{kind}s": planned[name] for name, kind in _WHO.items() if planned[name]}

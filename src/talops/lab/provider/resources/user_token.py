"""proxmox_user_token: its value is told once, when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from talops.lab.provider.kinds import Call, Resource, refuse
from talops.lab.provider.resources.access import from_epoch, to_epoch
from talops.lab.provider.schema import Attribute, Block
from talops.lab.provider.validation import matching

if TYPE_CHECKING:
    from talops.lab.provider.values import Values


class UserToken(Resource):
    name = "proxmox_user_token"
    block = Block(
        {
            "comment": Attribute(),
            "expiration_date": Attribute(),
            "id": Attribute(readonly=True, keep=True),
            "privileges_separation": Attribute("bool", computed=True, default=True),
            "token_name": Attribute(
                required=True,
                force_new=True,
                check=matching(r"[A-Za-z][A-Za-z0-9.\-_]+", "a token identifier"),
            ),
            "user_id": Attribute(required=True, force_new=True),
            "value": Attribute(readonly=True, keep=True, sensitive=True),
        }
    )

    async def create(self, call: Call, planned: Values) -> Values:
        made = await call.api.call("POST", _path(planned), _form(planned))
        # The real provider keeps what stands behind the equals sign of a credential, too.
        full = f"{planned['user_id']}!{planned['token_name']}"
        return {**planned, "id": full, "value": f"{full}={made['value']}"}

    async def read(self, call: Call, state: Values) -> Values | None:
        found = await call.api.get(_path(state))
        out = {**state, "comment": found.get("comment")}
        if found.get("expire"):
            out["expiration_date"] = from_epoch(found["expire"])
        return out | {"privileges_separation": bool(found.get("privsep", 1))}

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        form = _form(planned)
        if "expire" not in form and prior["expiration_date"] is not None:
            form["expire"] = "0"
        await call.api.call("PUT", _path(planned), form)
        return planned

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.call("DELETE", _path(prior))

    async def adopt(self, _call: Call, identity: str) -> Values:
        user, _, token = identity.partition("!")
        if not user or not token:
            refuse(f"expected USER!TOKEN to import, got {identity!r}")
        return {"id": identity, "user_id": user, "token_name": token}


def _form(planned: Values) -> dict[str, str]:
    out = {"privsep": "1" if planned["privileges_separation"] else "0"}
    out |= {"comment": planned["comment"]} if planned["comment"] is not None else {}
    if planned["expiration_date"]:
        out["expire"] = str(to_epoch(planned["expiration_date"]))
    return out


def _path(state: Values) -> str:
    return f"/access/users/{quote(state['user_id'], safe='@')}/token/{quote(state['token_name'])}"

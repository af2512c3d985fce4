"""proxmox_virtual_environment_pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Resource
from talops.lab.provider.schema import Attribute, Block

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_MEMBER = {
    "datastore_id": "string",
    "id": "string",
    "node_name": "string",
    "type": "string",
    "vm_id": "number",
}


class Pool(Resource):
    name = "proxmox_virtual_environment_pool"
    legacy = True
    block = Block(
        {
            "comment": Attribute(default=""),
            "id": Attribute(computed=True),
            "members": Attribute(["list", ["object", _MEMBER]], readonly=True),
            "pool_id": Attribute(required=True, force_new=True),
        }
    )

    async def create(self, call: Call, planned: Values) -> Values:
        form = {"poolid": planned["pool_id"], "comment": planned["comment"]}
        await call.api.call("POST", "/pools", form)
        call.saved = {**planned, "id": planned["pool_id"]}
        return await self.found(call, call.saved)

    async def read(self, call: Call, state: Values) -> Values | None:
        try:
            found: Any = await call.api.get("/pools", {"poolid": state["id"]})
        except ApiError as error:
            if error.gone:
                return None
            raise
        if not found:
            return None
        members = [_member(item) for item in found[0].get("members") or []]
        told = {"comment": found[0].get("comment") or "", "members": members}
        return {**state, "pool_id": state["id"], **told}

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        await call.api.call("PUT", pool_path(prior["id"]), {"comment": planned["comment"]})
        return await self.found(call, planned)

    async def delete(self, call: Call, prior: Values) -> None:
        await call.api.remove("/pools", {"poolid": prior["id"]})


def pool_path(name: str) -> str:
    """Its name goes into the query even where everything else is in the body."""
    return f"/pools?poolid={quote(name)}"


def _member(item: Values) -> Values:
    return {
        "datastore_id": item.get("storage") or "",
        "id": item.get("id"),
        "node_name": item.get("node"),
        "type": item.get("type"),
        "vm_id": item.get("vmid") or 0,
    }

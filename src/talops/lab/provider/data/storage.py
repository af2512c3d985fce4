"""Datastores and the files in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.kinds import Call, DataSource, refuse
from talops.lab.provider.schema import Attribute, Block, Nested

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_SET = ["set", "string"]
_STORE = {
    "active": Attribute("bool"),
    "content_types": Attribute(_SET, readonly=True),
    "enabled": Attribute("bool"),
    "id": Attribute(required=True),
    "node_name": Attribute(required=True),
    "shared": Attribute("bool"),
    "space_available": Attribute("number"),
    "space_total": Attribute("number"),
    "space_used": Attribute("number"),
    "space_used_fraction": Attribute("number"),
    "type": Attribute(required=True),
}
_FILTERS = {
    "content_types": Attribute(_SET),
    "id": Attribute(),
    "target": Attribute(),
}
_TEXT, _COUNT = Attribute(readonly=True), Attribute("number", readonly=True)


class Datastores(DataSource):
    name = "proxmox_datastores"
    block = Block(
        {
            "datastores": Attribute(nested=Nested(_STORE, "list")),
            "filters": Attribute(nested=Nested(_FILTERS)),
            "node_name": Attribute(required=True),
        }
    )

    async def read(self, call: Call, config: Values) -> Values:
        rules = config["filters"] or {}
        query = {"content": ",".join(rules.get("content_types") or [])}
        query |= {"storage": rules.get("id") or "", "target": rules.get("target") or ""}
        asked = {key: value for key, value in query.items() if value}
        found = await call.api.get(f"/nodes/{config['node_name']}/storage", asked)
        stores = sorted(found or [], key=lambda store: str(store["storage"]))
        return {"datastores": [_store(config["node_name"], store) for store in stores]}


class File(DataSource):
    name = "proxmox_file"
    block = Block(
        {
            "content_type": Attribute(required=True),
            "datastore_id": Attribute(required=True),
            "file_format": _TEXT,
            "file_name": Attribute(required=True),
            "file_size": _COUNT,
            "id": _TEXT,
            "node_name": Attribute(required=True),
            "vmid": _COUNT,
        }
    )

    async def read(self, call: Call, config: Values) -> Values:
        path = f"/nodes/{config['node_name']}/storage/{config['datastore_id']}/content"
        found: Any = await call.api.get(path, {"content": config["content_type"]})
        for file in found or []:
            name = str(file["volid"]).partition(":")[2].partition("/")[2]
            if name == config["file_name"]:
                return {
                    "id": file["volid"],
                    "file_format": file["format"],
                    "file_size": file["size"],
                    "vmid": file.get("vmid"),
                }
        return refuse("File Not Found", f"{config['file_name']!r} is not in {path}")


def _store(node: str, store: Values) -> Values:
    return {
        "active": options.truth(store.get("active"), absent=False),
        "content_types": sorted(str(store.get("content") or "").split(",")),
        "enabled": options.truth(store.get("enabled"), absent=False),
        "id": store["storage"],
        "node_name": node,
        "shared": options.truth(store.get("shared"), absent=False),
        "space_available": int(store.get("avail") or 0),
        "space_total": int(store.get("total") or 0),
        "space_used": int(store.get("used") or 0),
        "space_used_fraction": float(store.get("used_fraction") or 0),
        "type": store["type"],
    }

"""proxmox_hardware_mapping_pci: one name for a device that differs from node to node."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from talops.lab.provider import options
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Remark, Resource
from talops.lab.provider.schema import Attribute, Block, Nested

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_BASE = "/cluster/mapping/pci"
_ENTRY = {
    "comment": Attribute(),
    "id": Attribute(required=True),
    "iommu_group": Attribute("number"),
    "node": Attribute(required=True),
    "path": Attribute(required=True),
    "subsystem_id": Attribute(),
}


class PciMapping(Resource):
    name = "proxmox_hardware_mapping_pci"
    block = Block(
        {
            "comment": Attribute(),
            "id": Attribute(readonly=True, keep=True),
            "map": Attribute(required=True, nested=Nested(_ENTRY, "set")),
            "mediated_devices": Attribute("bool", computed=True, default=False),
            "name": Attribute(required=True),
        }
    )

    async def create(self, call: Call, planned: Values) -> Values:
        form = [("id", planned["name"]), *_form(planned)]
        await call.api.call("POST", _BASE, form)
        return await self.found(call, {**planned, "id": planned["name"]})

    async def read(self, call: Call, state: Values) -> Values | None:
        try:
            found = await call.api.get(_path(state["id"]))
        except ApiError as error:
            if error.gone:
                return None
            raise
        return {**state, **told(found), "name": state["id"]}

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        gone = [] if planned["mediated_devices"] else ["mdev"]
        if planned["comment"] is None and prior["comment"] is not None:
            gone.insert(0, "description")
        form = [*_form(planned), *([("delete", ",".join(gone))] if gone else [])]
        await call.api.call("PUT", _path(planned["name"]), form)
        return await self.found(call, planned)

    async def delete(self, call: Call, prior: Values) -> None:
        if not await call.api.remove(_path(prior["name"])):
            call.warnings.append(Remark(f"PCI mapping {prior['name']} is gone already"))


def told(found: Values) -> Values:
    return {
        "comment": found.get("description"),
        "map": [_entry(text) for text in found.get("map") or []],
        "mediated_devices": options.truth(found.get("mdev"), absent=False),
    }


def _entry(text: str) -> Values:
    parts = options.parse(text, "")
    group = parts.get("iommugroup")
    return {
        "comment": parts.get("description"),
        "id": parts.get("id"),
        "iommu_group": None if group is None else int(group),
        "node": parts.get("node"),
        "path": parts.get("path"),
        "subsystem_id": parts.get("subsystem-id"),
    }


def _form(planned: Values) -> list[tuple[str, str]]:
    out = [("map", _text(entry)) for entry in planned["map"] or []]
    if planned["comment"] is not None:
        out.append(("description", planned["comment"]))
    return [*out, ("mdev", "1")] if planned["mediated_devices"] else out


def _text(entry: Values) -> str:
    return options.join(
        {
            "id": entry["id"],
            "node": entry["node"],
            "path": entry["path"],
            "description": entry["comment"],
            "iommugroup": entry["iommu_group"],
            "subsystem-id": entry["subsystem_id"],
        }
    )


def _path(name: str) -> str:
    return f"{_BASE}/{quote(name)}"

"""PCI devices of a node, and the names they have in a datacenter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.lab.provider import options
from talops.lab.provider.kinds import Call, DataSource
from talops.lab.provider.resources.pci_mapping import told
from talops.lab.provider.schema import Attribute, Block, Nested

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_TEXT, _COUNT = Attribute(readonly=True), Attribute("number", readonly=True)
_FLAG = Attribute("bool", readonly=True)
_NAMED = (
    "device_name", "subsystem_device", "subsystem_device_name", "subsystem_vendor",
    "subsystem_vendor_name", "vendor_name",
)  # fmt: skip
# Filter → the key it is about; hexadecimal ones may leave out the 0x.
_RULES = {"class": "class", "device_id": "device", "id": "id", "vendor_id": "vendor"}


class HardwarePci(DataSource):
    name = "proxmox_hardware_pci"
    block = Block(
        {
            "devices": Attribute(
                readonly=True,
                nested=Nested(
                    {
                        "class": _TEXT,
                        "device": _TEXT,
                        "id": _TEXT,
                        "iommu_group": _COUNT,
                        "mdev": _FLAG,
                        "vendor": _TEXT,
                        **dict.fromkeys(_NAMED, _TEXT),
                    },
                    "list",
                ),
            ),
            "filters": Attribute(nested=Nested({name: Attribute() for name in _RULES})),
            "node_name": Attribute(required=True),
            "pci_class_blacklist": Attribute(["list", "string"]),
        }
    )

    async def read(self, call: Call, config: Values) -> Values:
        left_out = config["pci_class_blacklist"]
        query = {"pci-class-blacklist": ";".join(left_out)} if left_out is not None else None
        found: Any = await call.api.get(f"/nodes/{config['node_name']}/hardware/pci", query)
        rules = config["filters"] or {}
        return {"devices": [_device(item) for item in found or [] if _matches(item, rules)]}


class PciMappingData(DataSource):
    name = "proxmox_hardware_mapping_pci"
    block = Block(
        {
            "comment": _TEXT,
            "id": _TEXT,
            "map": Attribute(
                readonly=True,
                nested=Nested(
                    {
                        "comment": _TEXT,
                        "id": _TEXT,
                        "iommu_group": _COUNT,
                        "node": _TEXT,
                        "path": _TEXT,
                        "subsystem_id": _TEXT,
                    },
                    "set",
                ),
            ),
            "mediated_devices": _FLAG,
            "name": Attribute(required=True),
        }
    )

    async def read(self, call: Call, config: Values) -> Values:
        found = await call.api.get(f"/cluster/mapping/pci/{quote(config['name'])}")
        return {**told(found), "id": config["name"]}


def _device(item: Values) -> Values:
    return {
        "class": item["class"],
        "device": item["device"],
        "id": item["id"],
        "iommu_group": item.get("iommugroup", 0),
        "mdev": options.truth(item.get("mdev"), absent=False),
        "vendor": item["vendor"],
        **{name: item.get(name) or "" for name in _NAMED},
    }


def _matches(item: Values, rules: Values) -> bool:
    for name, key in _RULES.items():
        wanted = rules.get(name)
        if wanted is None:
            continue
        value = str(item[key])
        if key != "id":
            value, wanted = value.removeprefix("0x").lower(), wanted.removeprefix("0x").lower()
        if not value.startswith(wanted):
            return False
    return True

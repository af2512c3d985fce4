"""Virtual machines that are there already."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, DataSource, Remark, refuse
from talops.lab.provider.schema import Attribute, Block, NestedBlock

if TYPE_CHECKING:
    from talops.lab.provider.values import Values

_STRINGS = ["list", "string"]
_NODE_OFFLINE = 595
_VM = {
    "name": "string",
    "node_name": "string",
    "status": "string",
    "tags": _STRINGS,
    "template": "bool",
    "vm_id": "number",
}


class Vms(DataSource):
    name = "proxmox_virtual_environment_vms"
    block = Block(
        {
            "id": Attribute(computed=True),
            "node_name": Attribute(),
            "tags": Attribute(_STRINGS),
            "vms": Attribute(["list", ["object", _VM]], readonly=True),
        },
        {
            "filter": NestedBlock(
                Block(
                    {
                        "name": Attribute(required=True),
                        "regex": Attribute("bool", default=False),
                        "values": Attribute(_STRINGS, required=True),
                    }
                )
            )
        },
    )

    async def read(self, call: Call, config: Values) -> Values:
        wanted = {tag.strip() for tag in config["tags"] or [] if tag.strip()}
        found: list[Values] = []
        for node in await _nodes(call, config["node_name"]):
            found += await _list(call, node)
        chosen = [
            vm
            for vm in found
            if wanted <= set(vm["tags"] or []) and all(_matches(vm, f) for f in config["filter"])
        ]
        return {"id": str(uuid.uuid4()), "vms": chosen}


class Vm(DataSource):
    name = "proxmox_virtual_environment_vm"
    block = Block(
        {
            "id": Attribute(computed=True),
            "name": Attribute(readonly=True),
            "node_name": Attribute(required=True),
            "status": Attribute(),
            "tags": Attribute(_STRINGS, readonly=True),
            "template": Attribute("bool"),
            "vm_id": Attribute("number", required=True),
        },
        deprecated=True,
    )

    async def read(self, call: Call, config: Values) -> Values:
        vmid, node = int(config["vm_id"]), config["node_name"]
        path = f"/nodes/{node}/qemu/{vmid}"
        try:
            status = await call.api.get(f"{path}/status/current")
        except ApiError as error:
            if error.gone:
                refuse(f"VM {vmid} not found on node {node!r}")
            raise
        found = await call.api.get(f"{path}/config")
        return {
            "id": str(vmid),
            "name": status.get("name") or "",
            "status": status["status"],
            "tags": _tags(status.get("tags")),
            "template": options.truth(found.get("template"), absent=False),
        }


async def _nodes(call: Call, only: str | None) -> list[str]:
    if only:
        return [only]
    return sorted(str(node["node"]) for node in await call.api.get("/nodes") or [])


async def _list(call: Call, node: str) -> list[Values]:
    try:
        found: Any = await call.api.get(f"/nodes/{node}/qemu")
    except ApiError as error:
        if error.code != _NODE_OFFLINE:
            raise
        said = f"node {node!r} is not available - VM list may be incomplete"
        call.warnings.append(Remark(said))
        return []
    return [_told(node, vm) for vm in sorted(found or [], key=lambda vm: int(vm["vmid"]))]


def _told(node: str, vm: Values) -> Values:
    return {
        "name": vm.get("name") or "",
        "node_name": node,
        "status": vm["status"],
        "tags": _tags(vm.get("tags")) or None,
        "template": options.truth(vm.get("template"), absent=False),
        "vm_id": int(vm["vmid"]),
    }


def _tags(text: Any) -> list[str]:
    return sorted(tag.strip() for tag in str(text or "").split(";") if tag.strip())


def _matches(vm: Values, rule: Values) -> bool:
    """One of the values is enough; several filters must all be met."""
    if rule["name"] not in ("name", "node_name", "status", "template"):
        refuse(f"unknown filter {rule['name']!r}")
    value = vm[rule["name"]]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if rule["regex"]:
        return any(re.search(pattern, text) for pattern in rule["values"])
    return text in rule["values"]

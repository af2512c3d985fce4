"""PCI devices of a node, and the mappings that give them names across nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import either, perm
from talops.lab.proxmox.drives import parse
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document
    from talops.lab.spec import DeviceSpec

SEE = ("Mapping.Use", "Mapping.Modify", "Mapping.Audit")
OPTIONS = "description:str map:list mdev:bool live-migration-capable:bool"


@route(
    "GET",
    "/nodes/{node}/hardware/pci",
    "pci-class-blacklist:str verbose:bool",
    perm("/", "Sys.Audit", "Sys.Modify", any_of=True),
)
def list_pci(call: Call) -> list[dict[str, Any]]:
    hidden = [
        text
        for text in call.get("pci-class-blacklist", "05;06;0b").replace(",", ";").split(";")
        if text
    ]
    devices = call.pve.nodes[call.node].devices
    return [
        _device(device)
        for device in devices
        if not any(device.class_.removeprefix("0x").startswith(prefix) for prefix in hidden)
    ]


def _device(device: DeviceSpec) -> dict[str, Any]:
    return {
        "id": device.id,
        "class": device.class_,
        "vendor": device.vendor,
        "device": device.device,
        "iommugroup": device.iommugroup,
        "subsystem_vendor": device.subsystem_vendor,
        "subsystem_device": device.subsystem_device,
        "vendor_name": device.vendor_name,
        "device_name": device.device_name,
    }


@route("GET", "/cluster/mapping/pci", "check-node:str")
def list_mappings(call: Call) -> list[dict[str, Any]]:
    rows = []
    for mapping in call.pve.mappings.values():
        if not call.may(f"/mapping/pci/{mapping['id']}", *SEE, any_of=True):
            continue
        row = _shown(mapping)
        row["id"] = mapping["id"]
        if call.get("check-node"):
            row["checks"] = _problems(call, mapping, call.params["check-node"])
        rows.append(row)
    return rows


def _shown(mapping: Document) -> dict[str, Any]:
    return {**{k: v for k, v in mapping.items() if k != "id"}, "type": "pci", "digest": "0" * 40}


def _problems(call: Call, mapping: Document, node: str) -> list[dict[str, str]]:
    entries = [parse(text, "id") for text in mapping["map"]]
    here = [entry for entry in entries if entry.get("node") == node]
    if not here:
        return [{"severity": "warning", "message": f"No mapping for node {node}."}]
    found = []
    for entry in here:
        problem = _compare(call, entry, node)
        if problem:
            found.append({"severity": "error", "message": problem})
    return found


def _compare(call: Call, entry: dict[str, str], node: str) -> str:
    path = entry["path"].split(";")[0]
    real = next((d for d in call.pve.nodes[node].devices if d.id.startswith(path)), None)
    if real is None:
        return f"PCI device '{path}' does not exist"
    ident = f"{real.vendor.removeprefix('0x')}:{real.device.removeprefix('0x')}"
    if entry.get("id") != ident:
        return f"'id' does not match for '{path}' ({entry.get('id')} != {ident})"
    group = entry.get("iommugroup")
    if group is not None and int(group) != real.iommugroup:
        return f"'iommugroup' does not match for '{path}' ({group} != {real.iommugroup})"
    return ""


@route(
    "GET",
    "/cluster/mapping/pci/{id}",
    "",
    either(*(perm("/mapping/pci/{id}", privilege) for privilege in SEE)),
)
def read_mapping(call: Call) -> dict[str, Any]:
    return _shown(_mapping(call))


def _mapping(call: Call) -> Document:
    mapping = call.pve.mappings.get(call.params["id"])
    if mapping is None:
        raise failed(f"mapping '{call.params['id']}' does not exist")
    return mapping


@route("POST", "/cluster/mapping/pci", f"id!:str {OPTIONS}", perm("/mapping/pci", "Mapping.Modify"))
def create_mapping(call: Call) -> None:
    name = call.params["id"]
    if name in call.pve.mappings:
        raise failed(f"create PCI mapping failed: pci ID '{name}' already defined")
    if not call.get("map"):
        raise invalid({"map": "property is missing and it is not optional"})
    call.pve.mappings.put(name, {**call.params, "map": _checked(call)})


@route(
    "PUT",
    "/cluster/mapping/pci/{id}",
    f"delete:str digest:str {OPTIONS}",
    perm("/mapping/pci/{id}", "Mapping.Modify"),
)
def change_mapping(call: Call) -> None:
    mapping = dict(_mapping(call))
    for key in str(call.get("delete", "")).split(","):
        mapping.pop(key, None)
    changes = {k: v for k, v in call.params.items() if k not in {"delete", "digest"}}
    if "map" in changes:
        changes["map"] = _checked(call)
    call.pve.mappings.put(mapping["id"], {**mapping, **changes})


def _checked(call: Call) -> list[str]:
    for text in call.params["map"]:
        entry = parse(text, "id")
        missing = [key for key in ("id", "node", "path") if key not in entry]
        if missing:
            raise invalid(
                {
                    "map": f"invalid format - format error\nmap.{missing[0]}: property is "
                    "missing and it is not optional"
                }
            )
        if entry["node"] not in call.pve.nodes:
            raise failed(f"node '{entry['node']}' does not exist")
        problem = _compare(call, entry, entry["node"])
        if problem:
            raise failed(f"PCI mapping invalid (hardware configuration changed?): {problem}")
    return list(call.params["map"])


@route("DELETE", "/cluster/mapping/pci/{id}", "", perm("/mapping/pci", "Mapping.Modify"))
def delete_mapping(call: Call) -> None:
    call.pve.mappings.drop(_mapping(call)["id"])

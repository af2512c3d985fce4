"""PCI devices of a node, and the mappings that give them names across nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.vm.drives import parse

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.store import Document
    from talops.lab.spec import DeviceSpec

SEE = ("Mapping.Use", "Mapping.Modify", "Mapping.Audit")


@route("GET", "/nodes/{node}/hardware/pci")
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
        "subsystem_vendor_name": device.subsystem_vendor_name,
    }


@route("GET", "/nodes/{node}/hardware/usb")
def list_usb(_: Call) -> list[dict[str, Any]]:
    return []


@route("GET", "/nodes/{node}/hardware/pci/{pci-id-or-mapping}")
def pci_index(_: Call) -> list[dict[str, Any]]:
    return [{"method": "mdev"}]


@route("GET", "/cluster/mapping/pci")
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
    return call.pve.shuffled(rows)


def _shown(mapping: Document) -> dict[str, Any]:
    return {**{k: v for k, v in mapping.items() if k != "id"}, "type": "pci", "digest": "0" * 40}


def _problems(call: Call, mapping: Document, node: str) -> list[dict[str, str]]:
    here = entries_on(mapping, node)
    if not here:
        return [{"severity": "warning", "message": f"No mapping for node {node}."}]
    problems = (mismatch(call.pve, mapping, entry, node) for entry in here)
    return [
        {"severity": "error", "message": f"Invalid configuration: {problem}\n"}
        for problem in problems
        if problem
    ]


def entries_on(mapping: Document, node: str) -> list[dict[str, str]]:
    entries = [parse(text, "id") for text in mapping["map"]]
    return [entry for entry in entries if entry.get("node") == node]


def mismatch(pve: Hypervisor, mapping: Document, entry: dict[str, str], node: str) -> str:
    """How the node's device differs from the mapping; nothing if it matches."""
    for number, path in enumerate(entry["path"].split(";")):
        place = path if "." in path else f"{path}.0"
        real = next((d for d in pve.nodes[node].devices if d.id == place), None)
        if real is None:
            return f"pci device '{place}' not found"
        expected = {
            "id": f"{real.vendor}:{real.device}".replace("0x", ""),
            "iommugroup": str(real.iommugroup),
            "mdev": "0",
            "subsystem-id": f"{real.subsystem_vendor}:{real.subsystem_device}".replace("0x", ""),
        }
        given = {**entry, "mdev": str(mapping.get("mdev", 0))}
        if number:
            expected.pop("iommugroup")
        for name, value in expected.items():
            if name not in given:
                return f"missing expected property '{name}' for device '{place}'"
            if given[name].replace("0x", "") != value:
                return f"'{name}' does not match for '{mapping['id']}' ({value} != {given[name]})"
    return ""


@route("GET", "/cluster/mapping/pci/{id}")
def read_mapping(call: Call) -> dict[str, Any]:
    mapping = call.pve.mappings.get(call.params["id"])
    if mapping is None:
        raise failed(f"mapping '{call.params['id']}' not found")
    return _shown(mapping)


@route("POST", "/cluster/mapping/pci")
def create_mapping(call: Call) -> None:
    """Whether the device exists is checked when a VM that uses it starts."""
    name = call.params["id"]
    with prefixed("create hardware mapping failed"):
        if name in call.pve.mappings:
            raise failed(f"pci ID '{name}' already defined")
    call.pve.mappings.put(name, dict(call.params))


@route("PUT", "/cluster/mapping/pci/{id}")
def change_mapping(call: Call) -> None:
    with prefixed("update hardware mapping failed"):
        mapping = call.pve.mappings.get(call.params["id"])
        if mapping is None:
            raise failed(f"pci ID '{call.params['id']}' does not exist")
        if not call.get("map"):
            raise failed("missing value for required option 'map'")
    gone = split_list(str(call.get("delete", "")))
    kept = {key: value for key, value in mapping.items() if key not in gone}
    changes = {k: v for k, v in call.params.items() if k not in {"delete", "digest"}}
    call.pve.mappings.put(mapping["id"], {**kept, **changes})


@route("DELETE", "/cluster/mapping/pci/{id}")
def delete_mapping(call: Call) -> None:
    call.pve.mappings.drop(call.params["id"])

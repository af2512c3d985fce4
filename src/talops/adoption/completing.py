"""Write into the state what an import cannot read, because no host stores it. Pure.

Otherwise the next plan would restart a VM to "change" its missing agent block, and download an
image again to set its URL. Everything that a host does store is refreshed by the next plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.tofu.plan import VM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "proxmox_download_file"
Document = dict[str, Any]
# Settings that only the provider knows. Only an imported VM lacks `migrate`: talops always sets it.
OWN = {
    "migrate": True,
    "stop_on_destroy": True,
    "purge_on_destroy": True,
    "delete_unreferenced_disks_on_destroy": True,
}

OWN_OF_FILES = {
    "overwrite": False,
    "overwrite_unmanaged": True,
    "upload_timeout": 600,
    "verify": True,
}


def addresses(document: Document) -> frozenset[str]:
    """Every managed resource, named as `state list` names it."""
    return frozenset(address for address, _, _ in _instances(document))


def incomplete(document: Document) -> list[str]:
    """Imported resources that still lack what only the inventory provides."""
    return [address for address, kind, values in _instances(document) if _lacks(kind, values)]


def complete(document: Document, urls: Mapping[str, str], *, qemu_agent: bool) -> Document:
    """The same state with the next serial and without gaps. `urls`: image address → its source."""
    for address, kind, values in _instances(document):
        if not _lacks(kind, values):
            continue
        if kind == FILE:
            values |= {"url": urls.get(address), **OWN_OF_FILES}
            continue
        values |= {key: value for key, value in OWN.items() if key in values}
        if not values.get("agent"):
            values["agent"] = [_agent(enabled=qemu_agent and "module." in address)]
    return {**document, "serial": document["serial"] + 1}


def _lacks(kind: str, values: Mapping[str, Any]) -> bool:
    if kind == FILE:
        return values.get("url") is None
    return kind == VM and values.get("migrate") is not True


def _agent(*, enabled: bool) -> dict[str, Any]:
    waiting = {"disabled": True, "ipv4": False, "ipv6": False}
    return {
        "enabled": enabled,
        "timeout": "15m",
        "trim": False,
        "type": "virtio",
        "wait_for_ip": [waiting],
    }


def _instances(document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Address, type and attributes of every managed resource."""
    for resource in document.get("resources", []):
        if resource.get("mode") != "managed":
            continue
        module = f"{resource['module']}." if resource.get("module") else ""
        for instance in resource.get("instances", []):
            key = instance.get("index_key")
            index = "" if key is None else f'["{key}"]' if isinstance(key, str) else f"[{key}]"
            address = f"{module}{resource['type']}.{resource['name']}{index}"
            yield address, resource["type"], instance["attributes"]

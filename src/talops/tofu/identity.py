"""Whether the VMs that a plan destroys are those that the state recorded. Pure.

A plan alone cannot tell: OpenTofu refreshes what it knows of a VM by its VMID alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.tofu.plan import VM, module_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.tofu.plan import Change

_NIC = re.compile(r"net\d+")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")
_SMBIOS = re.compile(r"(?:^|,)uuid=([0-9A-Fa-f-]{36})")
# EFI variables and TPM state are not listed: a VM has them by its firmware, and only one of each.
_DISK = re.compile(r"(?:scsi|virtio|sata|ide|unused)\d+")
_OWNER = re.compile(r"(?:vm|base|subvol)-(\d+)-")
_EMPTY = re.compile(r"none\b|cdrom\b")


@dataclass(frozen=True)
class Recorded:
    """A VM as the state remembers it from its creation. `disks`: slot → volume, where known."""

    name: str
    macs: frozenset[str]
    disks: Mapping[str, str] = field(default_factory=dict)
    vm_id: int | None = None


@dataclass(frozen=True)
class Found:
    """A VM as Proxmox shows it now. `own`: slot → volume that is destroyed together with it."""

    name: str
    macs: frozenset[str]
    tags: frozenset[str]
    uuid: str
    own: Mapping[str, str]


def recorded(document: Mapping[str, Any]) -> dict[str, Recorded]:
    """Address → VM, from a state as `state pull` prints it."""
    found: dict[str, Recorded] = {}
    for resource in document.get("resources") or []:
        if resource.get("type") != VM or resource.get("mode") != "managed":
            continue
        module = f"{resource['module']}." if resource.get("module") else ""
        for instance in resource.get("instances") or []:
            if not instance.get("deposed"):
                key = instance.get("index_key")
                index = "" if key is None else f"[{json.dumps(key)}]"
                address = f"{module}{VM}.{resource['name']}{index}"
                found[address] = _recorded(instance.get("attributes") or {})
    return found


def _recorded(values: Mapping[str, Any]) -> Recorded:
    cards = [card for card in values.get("network_device") or [] if card.get("mac_address")]
    disks = {
        str(disk["interface"]): str(disk.get("path_in_datastore") or "")
        for disk in values.get("disk") or []
        if disk.get("interface")
    }
    return Recorded(
        str(values.get("name") or ""),
        frozenset(str(card["mac_address"]).upper() for card in cards),
        disks,
        values.get("vm_id"),
    )


def read_config(vm_id: int, config: Mapping[str, Any]) -> Found:
    """A VM's config, as Proxmox returns it."""
    cards = [str(value) for key, value in config.items() if _NIC.fullmatch(key)]
    smbios = _SMBIOS.search(str(config.get("smbios1") or ""))
    return Found(
        name=str(config.get("name") or ""),
        macs=frozenset(mac.upper() for card in cards for mac in _MAC.findall(card)),
        tags=frozenset(re.split(r"[;, ]+", str(config.get("tags") or ""))) - {""},
        uuid=smbios[1].lower() if smbios else "",
        own=_own_volumes(vm_id, config),
    )


def _own_volumes(vm_id: int, config: Mapping[str, Any]) -> dict[str, str]:
    """Proxmox destroys the volumes that bear the VMID; others, as of a CSI driver, it leaves."""
    found = {}
    for slot, value in config.items():
        volume = str(value).partition(",")[0]
        owner = _OWNER.findall(volume)
        given = _DISK.fullmatch(slot) and not _EMPTY.match(volume)
        if given and "cloudinit" not in volume and owner and int(owner[-1]) == vm_id:
            found[slot] = volume
    return found


def doubts(
    known: Recorded | None, found: Found | None, *, tag: str = "", uuid: str = ""
) -> list[str]:
    """Why a VM that is about to be destroyed may not be ours; [] if everything fits."""
    if found is None:
        return ["Proxmox does not show it"]
    if known is None:
        return ["the state does not record it"]
    wrong = []
    if known.name and found.name != known.name:
        wrong.append(f"is called {found.name or 'nothing'}, not {known.name}")
    if tag and tag not in found.tags:
        wrong.append(f"lacks the tag {tag}")
    if lost := sorted(known.macs - found.macs):
        shown = ", ".join(sorted(found.macs)) or "no MAC"
        wrong.append(f"has {shown} instead of {', '.join(lost)}")
    if uuid and found.uuid != uuid:
        wrong.append(f"has UUID {found.uuid or 'none'} instead of {uuid}")
    return wrong + _disks(known, found)


def _disks(known: Recorded, found: Found) -> list[str]:
    wrong = []
    for slot, volume in sorted(found.own.items()):
        if slot not in known.disks:
            wrong.append(f"has the disk {slot} ({volume}), which talops did not create")
        elif known.disks[slot] and _file(known.disks[slot]) != _file(volume):
            wrong.append(f"has {volume} in {slot} instead of {known.disks[slot]}")
    return wrong


def _file(volume: str) -> str:
    return volume.rpartition(":")[2].rpartition("/")[2]


def problems(
    going: Sequence[Change],
    known: Mapping[str, Recorded],
    configs: Mapping[int, Mapping[str, Any]],
    tag: str,
    uuids: Mapping[str, str],
) -> dict[str, list[str]]:
    """Name of a VM in this plan → what does not fit, with its VMID first."""
    wrong = {}
    for change in going:
        if change.type != VM or change.deposed:
            continue
        config = configs.get(change.vm_id) if change.vm_id is not None else None
        found = read_config(change.vm_id or 0, config) if config else None
        uuid = uuids.get(module_key(change.address), "")
        if reasons := doubts(known.get(change.address), found, tag=tag, uuid=uuid):
            wrong[change.node] = [f"VM {change.vm_id}", *reasons]
    return wrong

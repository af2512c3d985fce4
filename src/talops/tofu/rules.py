"""The effect of changing one attribute of a running VM with bpg/proxmox.

Only attributes that are known to be harmless are listed as such. Any other attribute, also an
unknown one, counts as a restart.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.tofu.differences import Difference


class Effect(IntEnum):
    """The effect of a change; a higher value is more disruptive."""

    NOTHING = 0
    ONLINE = 1
    CREATES = 2
    RESTARTS = 3
    DISCONNECTS = 4
    REMOVES_DISK = 5
    FORGETS = 6
    REPLACES = 7
    DESTROYS = 8

    def __str__(self) -> str:
        return (
            self.name.lower().replace("_", " a ")
            if self is Effect.REMOVES_DISK
            else (self.name.lower())
        )


COMPUTED = frozenset(
    {"id", "ipv4_addresses", "ipv6_addresses", "mac_addresses", "network_interface_names"}
)
ONLINE = frozenset(
    {
        *("name", "description", "tags", "pool_id", "protection", "on_boot", "startup"),
        *("cdrom", "smbios", "hook_script_file_id", "hotplug", "migrate"),
        *("reboot", "reboot_after_update", "stop_on_destroy", "purge_on_destroy"),
        *("delete_unreferenced_disks_on_destroy", "timeout_clone", "timeout_create"),
        *("timeout_migrate", "timeout_move_disk", "timeout_reboot", "timeout_shutdown_vm"),
        *("timeout_start_vm", "timeout_stop_vm"),
    }
)
DISK_ONLINE = frozenset(
    {
        *("backup", "cache", "discard", "iothread", "replicate", "serial", "speed", "ssd"),
        # Only read when a disk is created.
        *("import_from", "path_in_datastore", "file_format"),
    }
)
HOST_DEVICES = ("hostpci", "usb")
# What connects a host by one of its bridges or VLANs.
CONNECTING = ("address", "address6", "gateway", "gateway6", "interface", "vlan")
# Blocks that add a drive in a slot, with their default slot; an existing drive in it is detached.
OTHER_DRIVES = {"cdrom": "ide3", "initialization": "ide2"}
DEFAULT_HOTPLUG = "network,disk,usb"


def effect_of(difference: Difference, before: dict[str, Any], after: dict[str, Any]) -> Effect:
    """The effect of changing one attribute of an existing VM."""
    top = difference.path[0]
    if top in COMPUTED:
        return Effect.NOTHING
    if top in ONLINE:
        return Effect.ONLINE
    special = SPECIAL.get(top)
    return special(difference, before, after) if special else Effect.RESTARTS


def _disk(difference: Difference, before: dict[str, Any], after: dict[str, Any]) -> Effect:
    slot = difference.path[1] if len(difference.path) > 1 else ""
    if slot not in slots(after) or _takes_over(slot, before, after):
        return Effect.REMOVES_DISK
    if slot not in slots(before):
        return Effect.ONLINE
    leaf = difference.path[2] if len(difference.path) > 2 else ""  # noqa: PLR2004
    if leaf == "size":
        return _resize(difference, after)
    return Effect.ONLINE if leaf in DISK_ONLINE else Effect.RESTARTS


def _takes_over(slot: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether the slot gets the volume of another one: bpg/proxmox matches disk blocks by
    position, so a block inserted before others gets the volume of the first of them.
    """
    had, gets = _volumes(before), _volumes(after).get(slot)
    own = had.get(slot)
    if own and gets and own[1] == gets[1]:  # a disk that moves keeps its name in the plan
        return False
    return gets in [volume for other, volume in had.items() if other != slot]


def _volumes(values: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Slot → storage and volume, if known."""
    disks = [d for d in values.get("disk") or [] if isinstance(d, dict)]
    known = (d for d in disks if d.get("interface") and d.get("path_in_datastore"))
    return {d["interface"]: (str(d.get("datastore_id")), d["path_in_datastore"]) for d in known}


def _resize(difference: Difference, after: dict[str, Any]) -> Effect:
    old, new = difference.before, difference.after
    if not isinstance(old, int | float) or not isinstance(new, int | float) or new < old:
        return Effect.REMOVES_DISK  # a volume cannot shrink: it would be replaced
    hotplug = after.get("hotplug") or DEFAULT_HOTPLUG
    return Effect.ONLINE if "disk" in hotplug or hotplug == "1" else Effect.RESTARTS


def _small_disk(difference: Difference, before: dict[str, Any], after: dict[str, Any]) -> Effect:
    """A move to another storage keeps the content; any other change creates an empty one."""
    block, leaf = difference.path[0], difference.path[-1]
    if not before.get(block) or (after.get(block) and leaf == "datastore_id"):
        return Effect.RESTARTS
    return Effect.REMOVES_DISK


def _started(difference: Difference, _before: dict[str, Any], _after: dict[str, Any]) -> Effect:
    """Power-on is not disruptive; power-off counts as a restart."""
    return Effect.ONLINE if difference.after is True else Effect.RESTARTS


def _nic(difference: Difference, _before: dict[str, Any], _after: dict[str, Any]) -> Effect:
    """Proxmox plugs a network card while the VM runs, but its connections may end: such a change
    needs the same order as a restart. Talos finds its link by the MAC, so a card that is removed,
    is unplugged or gets another MAC cuts the node off permanently.
    """
    leaf = difference.path[-1]
    if leaf in {"network_device", "mac_address"}:
        # Proxmox plugs the card again even if only the case of its MAC changes.
        same = str(difference.before).upper() == str(difference.after).upper()
        lost = difference.before and not same
        return Effect.DISCONNECTS if lost else Effect.RESTARTS
    unplugged = {"enabled": False, "disconnected": True}
    if leaf in unplugged and difference.after is unplugged[leaf]:
        return Effect.DISCONNECTS
    return Effect.RESTARTS


def _template(difference: Difference, _before: dict[str, Any], _after: dict[str, Any]) -> Effect:
    """A VM that becomes a template cannot run any more."""
    unchanged = not difference.before and difference.after is False
    return Effect.NOTHING if unchanged else Effect.REPLACES


def _node(_difference: Difference, before: dict[str, Any], after: dict[str, Any]) -> Effect:
    """With `migrate` the VM moves while it runs, unless it uses a host device; without it, the VM
    is replaced.
    """
    if not after.get("migrate"):
        return Effect.REPLACES
    bound = any(side.get(kind) for side in (before, after) for kind in HOST_DEVICES)
    return Effect.RESTARTS if bound else Effect.ONLINE


def host_network(before: dict[str, Any], after: dict[str, Any]) -> Effect:
    """A bridge or VLAN of a host that loses an address, its gateway or a port cuts off the host,
    or all VMs behind it.
    """
    kept = set(after.get("ports") or ())
    lost = [key for key in CONNECTING if before.get(key) and before[key] != after.get(key)]
    lost += [key for key in ("vlan_aware", "autostart") if before.get(key) and not after.get(key)]
    if lost or set(before.get("ports") or ()) - kept:
        return Effect.DISCONNECTS
    return Effect.ONLINE


SPECIAL = {
    "disk": _disk,
    "network_device": _nic,
    # Volumes that are not disks: EFI variables and TPM state.
    "efi_disk": _small_disk,
    "tpm_state": _small_disk,
    "started": _started,
    "template": _template,
    "node_name": _node,
}


def slots(values: dict[str, Any]) -> frozenset[str]:
    """The interfaces of the disks in a VM's values: scsi0, virtio1 …"""
    disks = values.get("disk")
    found = disks if isinstance(disks, list) else []
    return frozenset(str(d["interface"]) for d in found if isinstance(d, dict) and "interface" in d)


def claimed(values: dict[str, Any]) -> frozenset[str]:
    """The interfaces that CD-ROM and cloud-init drives use."""
    return frozenset(
        str(block.get("interface") or usual)
        for kind, usual in OTHER_DRIVES.items()
        for block in values.get(kind) or []
        if isinstance(block, dict)
    )

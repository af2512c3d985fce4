"""The options of a VM: the privilege that each needs, and which change a running VM."""

from __future__ import annotations

import re

# Parameters of a call that are not part of the configuration.
NOT_CONFIG = frozenset(
    [
        "node",
        "vmid",
        "archive",
        "bwlimit",
        "force",
        "ha-managed",
        "import-working-storage",
        "live-restore",
        "pool",
        "start",
        "storage",
        "unique",
        "delete",
        "digest",
        "revert",
        "skiplock",
        "background_delay",
    ]
)

_RIGHTS = {
    "VM.Config.CPU": "cores cpu cpulimit cpuunits numa smp sockets vcpus",
    "VM.Config.Memory": "memory balloon shares allow-ksm",
    "VM.Config.HWType": "acpi hotplug kvm machine scsihw smbios1 tablet vga watchdog audio0 rng0",
    "VM.Config.Disk": "boot bootdisk vmstatestorage",
    "VM.Config.Cloudinit": (
        "cicustom cipassword citype ciupgrade ciuser nameserver searchdomain sshkeys"
    ),
    "VM.Config.Options": (
        "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name "
        "onboot ostype protection reboot startdate startup tags tdf template"
    ),
    "VM.PowerMgmt": "freeze",
}
_RIGHT_OF = {name: right for right, names in _RIGHTS.items() for name in names.split()}
_INDEXED = {
    "unused": "VM.Config.Disk",
    "net": "VM.Config.Network",
    "ipconfig": "VM.Config.Cloudinit",
    "hostpci": "VM.Config.HWType",
    "usb": "VM.Config.HWType",
    "serial": "VM.Config.HWType",
    "numa": "VM.Config.CPU",
    "virtiofs": "VM.Config.Disk",
}

# Take effect while the VM runs; all others wait for the next start.
ONLINE = frozenset(
    [
        "name",
        "description",
        "tags",
        "onboot",
        "startup",
        "protection",
        "hookscript",
        "migrate_speed",
    ]
)
ONLINE_INDEXED = frozenset(["net", "ide", "sata", "scsi", "virtio", "unused", "ipconfig"])


def kind(key: str) -> str:
    """`scsi` for scsi3, the key itself for plain ones."""
    return re.sub(r"\d+$", "", key)


def right_for(key: str) -> str | None:
    """The privilege on the VM that changing this key needs; None: only root may."""
    return _RIGHT_OF.get(key) or _INDEXED.get(kind(key))


def is_online(key: str) -> bool:
    return key in ONLINE or kind(key) in ONLINE_INDEXED

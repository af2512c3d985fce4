"""The parameters of a VM: their types, the right that each one needs, the values they take."""

from __future__ import annotations

import re

COMMON = """
acpi:bool affinity:str agent:str allow-ksm:bool amd-sev:str arch=x86_64|aarch64 args:str audio0:str
autostart:bool balloon:int:0.. bios=seabios|ovmf boot:str bootdisk:str cdrom:str cicustom:str
cipassword:str citype=configdrive2|nocloud|opennebula ciupgrade:bool ciuser:str cores:int:1..
cpu:str cpulimit:num:0..128 cpuunits:int:1..262144 description:str efidisk0:str freeze:bool
hookscript:str hostpci[n]:str hotplug:str hugepages=any|2|1024 ide[n]:str intel-tdx:str
ipconfig[n]:str ivshmem:str keephugepages:bool keyboard:str kvm:bool localtime:bool
lock=backup|clone|create|migrate|rollback|snapshot|snapshot-delete|suspending|suspended
machine:str memory:str migrate_downtime:num:0.. migrate_speed:int:0.. name:str nameserver:str
net[n]:str numa:bool numa[n]:str onboot:bool
ostype=other|wxp|w2k|w2k3|w2k8|wvista|win7|win8|win10|win11|l24|l26|solaris
parallel[n]:str protection:bool reboot:bool rng0:str sata[n]:str scsi[n]:str
scsihw=lsi|lsi53c810|virtio-scsi-pci|virtio-scsi-single|megasas|pvscsi searchdomain:str
serial[n]:str shares:int:0..50000 smbios1:str smp:int:1.. sockets:int:1.. spice_enhancements:str
sshkeys:str startdate:str startup:str tablet:bool tags:str tdf:bool template:bool tpmstate0:str
unused[n]:str usb[n]:str vcpus:int:1.. vga:str virtio[n]:str virtiofs[n]:str vmgenid:str
vmstatestorage:str watchdog:str
"""
CREATE = (
    COMMON
    + "archive:str bwlimit:int:0.. force:bool ha-managed:bool import-working-storage:str "
    + "live-restore:bool pool:str start:bool storage:str unique:bool vmid!:int:100..999999999"
)
UPDATE = COMMON + (
    "delete:str digest:str force:bool revert:str skiplock:bool background_delay:int:1..30"
)
# Given to a call, and no part of the configuration.
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

# Changed while the VM runs and in force at once; everything else waits for the next start.
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

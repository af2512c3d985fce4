"""proxmox_virtual_environment_vm: the blocks and attributes that talops renders."""

from __future__ import annotations

from typing import Any

from talops.lab.provider.schema import Attribute, Block, NestedBlock
from talops.lab.provider.validation import at_least, between, matching, one_of

MAX_DISKS, MAX_PCI, MAX_SERIAL, MAX_NETWORKS = 31, 16, 4, 32
_MEMORY_MAX = 268435456
_STRINGS = ["list", "string"]


def _text(default: str = "", **more: Any) -> Attribute:
    return Attribute(default=default, **more)


def _flag(*, default: bool) -> Attribute:
    return Attribute("bool", default=default)


def _count(default: int, **more: Any) -> Attribute:
    return Attribute("number", default=default, **more)


def _one(attributes: dict[str, Attribute], **blocks: NestedBlock) -> NestedBlock:
    return NestedBlock(Block(attributes, blocks), max_items=1)


def _same_in_any_order(old: Any, new: Any) -> bool:
    return isinstance(old, list) and isinstance(new, list) and sorted(old) == sorted(new)


def _same_features(old: Any, new: Any) -> bool:
    if {old, new} & {"0", "1"}:
        return bool(old == new)
    return sorted(str(old).split(",")) == sorted(str(new).split(","))


def _same_disks(old: Any, new: Any) -> bool:
    """The order of disk blocks means nothing, nor does the path that Proxmox chose."""

    def told(disks: list[dict[str, Any]]) -> dict[str, Any]:
        return {d["interface"]: {**d, "path_in_datastore": None} for d in disks}

    return len(old) == len(new) and told(old) == told(new)


AGENT = _one(
    {
        "enabled": _flag(default=False),
        "timeout": _text("15m", check=matching(r"(\d+(\.\d+)?(ms|h|m|s))+", "a duration")),
        "trim": _flag(default=False),
        "type": _text("virtio", check=one_of("isa", "virtio")),
    },
    wait_for_ip=_one(
        {
            "disabled": _flag(default=False),
            "ipv4": _flag(default=False),
            "ipv6": _flag(default=False),
        }
    ),
)
CDROM = _one(
    {
        "enabled": Attribute("bool", default=False, deprecated=True),
        "file_id": _text(),
        "interface": _text(
            "ide3",
            check=matching(r"ide[0-3]|sata[0-5]|scsi([0-9]|1[0-3])", "ide0-3, sata0-5 or scsi0-13"),
        ),
    }
)
CLONE = _one(
    {
        "datastore_id": _text(force_new=True),
        "full": Attribute("bool", default=True, force_new=True),
        "node_name": _text(force_new=True),
        "retries": _count(1, force_new=True),
        "vm_id": Attribute("number", required=True, force_new=True),
    }
)
CPU = _one(
    {
        "affinity": _text(),
        "architecture": _text(check=one_of("", "aarch64", "x86_64")),
        "cores": _count(1, check=between(1, 1024)),
        "flags": Attribute(_STRINGS),
        "hotplugged": _count(0, check=between(0, 2304)),
        "limit": _count(0, check=between(0, 128)),
        "numa": _flag(default=False),
        "sockets": _count(1, check=between(1, 16)),
        "type": _text("qemu64"),
        "units": Attribute("number", computed=True, check=between(1, 262144)),
    }
)
_SPEED = _one(
    {
        name: _count(0)
        for name in (
            "iops_read",
            "iops_read_burstable",
            "iops_write",
            "iops_write_burstable",
            "read",
            "read_burstable",
            "write",
            "write_burstable",
        )
    }
)
_FORMAT = one_of("qcow2", "raw", "vmdk")
DISK = NestedBlock(
    Block(
        {
            "aio": _text("io_uring", check=one_of("io_uring", "native", "threads")),
            "backup": _flag(default=True),
            "cache": _text(
                "none", check=one_of("none", "writethrough", "writeback", "unsafe", "directsync")
            ),
            "datastore_id": _text("local-lvm"),
            "discard": _text("ignore"),
            "file_format": Attribute(computed=True, check=_FORMAT),
            "file_id": _text(force_new=True),
            "import_from": _text(),
            "interface": Attribute(required=True),
            "iothread": _flag(default=False),
            "path_in_datastore": Attribute(computed=True),
            "queues": _count(0),
            "replicate": _flag(default=True),
            "serial": _text(),
            "size": _count(8, computed=True, check=at_least(1)),
            "ssd": _flag(default=False),
        },
        {"speed": _SPEED},
    ),
    max_items=MAX_DISKS,
    suppress=_same_disks,
)
EFI_DISK = _one(
    {
        "datastore_id": _text("local-lvm"),
        "file_format": Attribute(computed=True, check=_FORMAT),
        "pre_enrolled_keys": _flag(default=False),
        "type": _text("2m", check=one_of("2m", "4m")),
    }
)
HOST_PCI = NestedBlock(
    Block(
        {
            "device": Attribute(required=True),
            "id": Attribute(),
            "mapping": Attribute(),
            "mdev": Attribute(),
            "pcie": Attribute("bool"),
            "rom_file": Attribute(),
            "rombar": Attribute("bool"),
            "xvga": Attribute("bool"),
        }
    ),
    max_items=MAX_PCI,
)
_ADDRESS = {"address": _text(), "gateway": _text()}
INITIALIZATION = _one(
    {
        "datastore_id": _text("local-lvm"),
        "file_format": Attribute(computed=True, check=_FORMAT),
        "interface": _text(suppress=lambda _, new: new == ""),
        "meta_data_file_id": Attribute(computed=True, force_new=True),
        "network_data_file_id": Attribute(computed=True, force_new=True),
        "type": Attribute(
            computed=True, force_new=True, check=one_of("", "configdrive2", "nocloud")
        ),
        "upgrade": Attribute("bool", computed=True),
        "user_data_file_id": Attribute(computed=True, force_new=True),
        "vendor_data_file_id": Attribute(computed=True, force_new=True),
    },
    dns=_one({"domain": _text(), "servers": Attribute(_STRINGS)}),
    ip_config=NestedBlock(
        Block({}, {"ipv4": _one(_ADDRESS), "ipv6": _one(_ADDRESS)}), max_items=MAX_NETWORKS
    ),
    user_account=_one(
        {
            "keys": Attribute(_STRINGS),
            "password": _text(
                sensitive=True, suppress=lambda old, _: bool(old) and not old.strip("*")
            ),
            "username": Attribute(),
        }
    ),
)
MEMORY = _one(
    {
        "dedicated": _count(512, check=between(64, _MEMORY_MAX)),
        "floating": _count(0, check=between(0, _MEMORY_MAX)),
        "hugepages": _text(check=one_of("1024", "2", "any")),
        "keep_hugepages": _flag(default=False),
        "shared": _count(0, check=between(0, _MEMORY_MAX)),
    }
)
NETWORK_DEVICE = Block(
    {
        "bridge": _text("vmbr0"),
        "disconnected": Attribute("bool"),
        "enabled": _flag(default=True),
        "firewall": _flag(default=False),
        "mac_address": Attribute(
            computed=True, check=matching(r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", "a MAC address")
        ),
        "model": _text("virtio", check=one_of("e1000", "e1000e", "rtl8139", "virtio", "vmxnet3")),
        "mtu": _count(0),
        "queues": _count(0, check=between(0, 64)),
        "rate_limit": _count(0),
        "trunks": Attribute(),
        "vlan_id": _count(0),
    }
)
STARTUP = _one({"down_delay": _count(-1), "order": _count(-1), "up_delay": _count(-1)})
VGA = NestedBlock(
    Block(
        {
            "clipboard": _text(check=one_of("", "vnc")),
            "memory": _count(16, check=between(4, 512)),
            "type": _text("std"),
        }
    ),
    max_items=1,
    computed=True,
)

BLOCK = Block(
    {
        "acpi": _flag(default=True),
        "bios": _text("seabios", check=one_of("ovmf", "seabios")),
        "boot_order": Attribute(_STRINGS, computed=True),
        "delete_unreferenced_disks_on_destroy": _flag(default=True),
        "description": _text(),
        "hook_script_file_id": _text(),
        "hotplug": Attribute(computed=True, suppress=_same_features),
        "id": Attribute(computed=True),
        "ipv4_addresses": Attribute(["list", _STRINGS], readonly=True),
        "ipv6_addresses": Attribute(["list", _STRINGS], readonly=True),
        "keyboard_layout": _text("en-us"),
        "kvm_arguments": _text(),
        "mac_addresses": Attribute(_STRINGS, computed=True),
        "machine": _text(),
        "migrate": _flag(default=False),
        "name": _text(),
        "network_device": Attribute(elements=NETWORK_DEVICE, computed=True),
        "network_interface_names": Attribute(_STRINGS, readonly=True),
        "node_name": Attribute(required=True),
        "on_boot": _flag(default=True),
        "pool_id": _text(suppress=lambda old, new: new == "" and bool(old)),
        "protection": _flag(default=False),
        "purge_on_destroy": _flag(default=True),
        "reboot": _flag(default=False),
        "reboot_after_update": _flag(default=True),
        "scsi_hardware": _text(
            "virtio-scsi-pci",
            check=one_of(
                "lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"
            ),
        ),
        "started": _flag(default=True),
        "stop_on_destroy": _flag(default=False),
        "tablet_device": _flag(default=True),
        "tags": Attribute(_STRINGS, suppress=_same_in_any_order),
        "template": _flag(default=False),
        "timeout_clone": _count(1800),
        "timeout_create": _count(1800),
        "timeout_migrate": _count(1800),
        "timeout_move_disk": _count(1800, deprecated=True),
        "timeout_reboot": _count(1800),
        "timeout_shutdown_vm": _count(1800),
        "timeout_start_vm": _count(1800),
        "timeout_stop_vm": _count(300),
        "vm_id": Attribute("number", computed=True, check=between(100, 2147483647)),
    },
    {
        "agent": AGENT,
        "cdrom": CDROM,
        "clone": CLONE,
        "cpu": CPU,
        "disk": DISK,
        "efi_disk": EFI_DISK,
        "hostpci": HOST_PCI,
        "initialization": INITIALIZATION,
        "memory": MEMORY,
        "operating_system": _one({"type": _text("other")}),
        "serial_device": NestedBlock(
            Block(
                {"device": _text("socket", check=matching(r"socket|/dev/.+", "socket or /dev/…"))}
            ),
            max_items=MAX_SERIAL,
        ),
        "startup": STARTUP,
        "tpm_state": _one({"datastore_id": _text("local-lvm"), "version": _text("v2.0")}),
        "vga": VGA,
    },
)

"""Disks of VMs: allocate, import, copy, free."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.storage.names import read_name, split_id
from talops.lab.proxmox.storage.volumes import Volume
from talops.lab.proxmox.vm.drives import GIB, format_drive, format_size, is_cdrom, is_cloudinit

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.storage.storages import Storages
    from talops.lab.proxmox.tasks import Task

NEW_DISK = re.compile(r"([A-Za-z][\w.-]*):(\d+(?:\.\d+)?)")
NO_FORMATS = {
    "lvm": "LVMPlugin.pm line 714",
    "lvmthin": "LvmThinPlugin.pm line 102",
    "zfspool": "ZFSPoolPlugin.pm line 224",
}
SMALL = 4 << 20  # TPM state, cloud-init
EFI_SIZES = {"4m": 528 << 10, "2m": 128 << 10}
HEADER = 64 << 10


def is_new(drive: dict[str, str]) -> bool:
    return bool(NEW_DISK.fullmatch(drive["file"])) or drive["file"].endswith(":cloudinit")


def need_images(storages: Storages, storage: str, node: str) -> None:
    found = storages.on_node(storage, node)
    if "images" not in str(found.get("content", "")).split(","):
        raise invalid({"storage": f"storage '{storage}' does not support vm images"})


def storage_of(drive: dict[str, str]) -> str | None:
    storage, separator, _ = drive["file"].partition(":")
    return storage if separator else None


def virtual_size(volume: Volume) -> int:
    """The size of the disk in an image; the lab's images state it in their first line."""
    if volume.path and volume.path.exists():
        with volume.path.open("rb") as file:
            head = file.read(HEADER).split(b"\n", 1)[0]
        with suppress(ValueError):
            header = json.loads(head)
            if isinstance(header, dict) and isinstance(header.get("virtual_size"), int):
                return int(header["virtual_size"])
    return volume.size


async def attach(
    pve: Hypervisor, task: Task | None, node: str, vmid: int, key: str, drive: dict[str, str]
) -> tuple[str, Volume | None]:
    """The drive's final property string, and the volume that was created for it."""
    if is_new(drive):
        volume, drive = await _create(pve, task, node, vmid, key, drive)
        return format_drive(drive), volume
    drive.pop("format", None)
    drive.pop("import-from", None)
    return format_drive(existing(pve.storages, node, drive)), None


def existing(storages: Storages, node: str, drive: dict[str, str]) -> dict[str, str]:
    """A drive that names a volume: the volume must exist; its real size is recorded."""
    drive = dict(drive)
    drive.pop("size", None)
    if drive["file"] in {"none", "cdrom"}:
        return drive
    if drive["file"].startswith("/"):  # a lab's hosts have no devices of their own
        raise failed(f"volume {drive['file']} does not exist")
    volume = storages.volume(drive["file"], node)
    if volume.content == "iso" and not is_cdrom(drive):
        drive["media"] = "cdrom"
    drive["size"] = format_size(volume.size)
    return drive


async def _create(
    pve: Hypervisor, task: Task | None, node: str, vmid: int, key: str, drive: dict[str, str]
) -> tuple[Volume, dict[str, str]]:
    storage = str(storage_of(drive))
    need_images(pve.storages, storage, node)
    shared = pve.storages.shared(storage)
    async with pve.locks.storage(storage, node=node, shared=shared):
        if task:
            await task.step("allocate")
        volume = _new_volume(pve, node, vmid, key, drive)
        pve.storages.volumes.put(volume.key, volume)
    kept = {k: v for k, v in drive.items() if k not in {"file", "format", "size", "import-from"}}
    if is_cloudinit(drive):
        kept["media"] = "cdrom"  # its size is recorded when it is written for the first time
    else:
        kept["size"] = format_size(volume.size)
    final = {"file": volume.volid, **kept}
    if task:
        task.log(f"{key}: successfully created disk '{format_drive(final)}'")
    return volume, final


def _new_volume(pve: Hypervisor, node: str, vmid: int, key: str, drive: dict[str, str]) -> Volume:
    storages = pve.storages
    storage = str(storage_of(drive))
    format_ = storages.default_format(storage, drive.get("format"))
    where = "" if storages.shared(storage) else node
    source = _source(storages, node, drive["import-from"]) if "import-from" in drive else None
    _check_format(storages, storage, drive.get("format", "raw"))
    if is_cloudinit(drive):
        format_ = "qcow2" if storages.file_based(storage) else "raw"
        volid = storages.name(storage, vmid, f"vm-{vmid}-cloudinit", format_)
        if storages.find(volid, node):
            raise failed(f"{volid} already exists")
    else:
        volid = storages.free_name(storage, node, vmid, format_)
    size = storages.rounded(storage, _size(key, drive, source))
    used = size if storages.thick(storage) else (source.used or source.size if source else 0)
    if key in {"efidisk0", "tpmstate0"} or is_cloudinit(drive):
        used = size
    storages.reserve(storage, node, used, volid.split(":", 1)[1])
    now = int(pve.clock.now())
    volume = Volume(volid, where, "images", format_, size, used, vmid, now)
    return with_file(storages, volume, node, source.path if source else None)


def _size(key: str, drive: dict[str, str], source: Volume | None) -> int:
    if source:
        return virtual_size(source)
    if key == "efidisk0":
        return EFI_SIZES[drive.get("efitype", "2m")]
    if key == "tpmstate0" or is_cloudinit(drive):
        return SMALL
    match = NEW_DISK.fullmatch(drive["file"])
    return int(float(match[2]) * GIB) if match else 0


def _source(storages: Storages, node: str, volid: str) -> Volume:
    found = storages.find(volid, node)
    if found is None and split_id(volid)[0]:
        content = read_name(storages.get(split_id(volid)[0])["type"], split_id(volid)[1]).content
        raise failed(f"failed to stat '{storages.path_of(volid, content)}'")
    if found is None:
        raise failed(f"failed to stat '{volid}'")
    return found


def _check_format(storages: Storages, storage: str, wanted: str) -> None:
    kind = storages.get(storage)["type"]
    if kind in NO_FORMATS and wanted != "raw":
        where = f"/usr/share/perl5/PVE/Storage/{NO_FORMATS[kind]}"
        raise failed(f"unsupported format '{wanted}' at {where}.")


def with_file(storages: Storages, volume: Volume, node: str, source: Path | None) -> Volume:
    """Link the volume to the source's bytes, which are never changed in place."""
    if source is None or not source.exists():
        return volume
    target = storages.folder(volume.storage, node) / "images" / volume.volid.split(":", 1)[1]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.link(source, target)
    return replace(volume, file=str(target))


async def copy(
    pve: Hypervisor,
    task: Task,
    source: Volume,
    *,
    node: str,
    vmid: int,
    storage: str,
    format_: str | None = None,
    target_node: str | None = None,
) -> Volume:
    """A full copy of a volume for a VM, on a storage of a node."""
    target = target_node or node
    storages = pve.storages
    need_images(storages, storage, target)
    async with pve.locks.storage(storage, node=target, shared=storages.shared(storage)):
        await task.step("allocate", f"create full clone of drive ({source.volid})")
        wanted = storages.default_format(storage, format_ or source.format)
        if source.volid.rpartition("-")[2].startswith("cloudinit"):
            volid = storages.name(storage, vmid, f"vm-{vmid}-cloudinit", wanted)
        else:
            volid = storages.free_name(storage, target, vmid, wanted)
        size = storages.rounded(storage, source.size)
        used = size if storages.thick(storage) else source.used
        storages.reserve(storage, target, used, volid.split(":", 1)[1])
        where = "" if storages.shared(storage) else target
        now = int(pve.clock.now())
        made = Volume(volid, where, "images", wanted, size, used, vmid, now)
        made = with_file(storages, made, target, source.path)
        storages.volumes.put(made.key, made)
    try:
        await task.step("copy", f"transferred {format_size(source.size)}")
    except BaseException:
        storages.remove(made)
        raise
    return made


def free_all(storages: Storages, volumes: list[Volume]) -> None:
    for volume in volumes:
        storages.remove(volume)

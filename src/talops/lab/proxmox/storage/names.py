"""The parts of a volume name: content type, owner and format."""

from __future__ import annotations

import re
from dataclasses import dataclass

from talops.lab.proxmox.errors import failed

FILE_TYPES = frozenset({"dir", "nfs", "cifs", "btrfs", "cephfs", "glusterfs"})
VOLUME_ID = re.compile(r"(?P<storage>[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]):(?P<name>.+)")
SAFE = r"[ A-Za-z0-9.+=_-]"
ISO = re.compile(r"iso/[^/]+\.(?:iso|img)", re.IGNORECASE)
TEMPLATE = re.compile(r"vztmpl/[^/]+\.tar(?:\.(?:gz|xz|zst|bz2))?", re.IGNORECASE)
BACKUP = re.compile(r"backup/(?:vzdump-(?:openvz|lxc|qemu)-(\d+)-)?[^/]+\.(?:tgz|(?:tar|vma).*)")
SNIPPET = re.compile(r"snippets/[^/]+")
IMPORT = re.compile(rf"import/{SAFE}+\.(ova|ovf|qcow2|raw|vmdk)")
PACKED = re.compile(rf"import/{SAFE}+\.ova/{SAFE}+\.(qcow2|raw|vmdk)")
FILE = re.compile(r"(?:base-)?[^/\s]+\.(raw|qcow2|vmdk|subvol)")
LVM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]")
ZFS = re.compile(r"(?:(?:base|basevol)-\d+-\S+/)?(base|basevol|vm|subvol)-(\d+)-\S+")


@dataclass(frozen=True)
class VolumeName:
    """`owner` is the VM that the name belongs to; 0 without one."""

    content: str
    format: str
    owner: int = 0


def split_id(volid: str) -> tuple[str, str]:
    """Storage and name; no storage if the text is not a volume id."""
    match = VOLUME_ID.fullmatch(volid)
    return (match["storage"], match["name"]) if match else ("", "")


def read_name(kind: str, name: str) -> VolumeName:
    """The meaning of a name on a storage of that kind, or the error of Proxmox."""
    if kind in FILE_TYPES:
        return _in_directory(name)
    if kind == "zfspool":
        match = ZFS.fullmatch(name)
        if not match:
            raise failed(f"unable to parse zfs volume name '{name}'")
        plain = match[1] in {"base", "vm"}
        return VolumeName("images", "raw" if plain else "subvol", int(match[2]))
    return _in_volume_group(kind, name)


def _in_volume_group(kind: str, name: str) -> VolumeName:
    if not LVM_NAME.fullmatch(name):
        raise failed(f"lvm name '{name}' contains illegal characters")
    match = re.fullmatch(r"(?:vm|base)-(\d+)-\S+" if kind == "lvmthin" else r"vm-(\d+)-\S+", name)
    if not match:
        raise failed(f"unable to parse lvm volume name '{name}'")
    return VolumeName("images", "raw", int(match[1]))


def _in_directory(name: str) -> VolumeName:
    image = re.fullmatch(r"(?:\d+/(\S+)/)?(\d+)/(\S+)", name)
    if image:
        return VolumeName("images", _format(image[3]), int(image[2]))
    for content, pattern in (("iso", ISO), ("vztmpl", TEMPLATE), ("snippets", SNIPPET)):
        if pattern.fullmatch(name):
            return VolumeName(content, "raw")
    backup = BACKUP.fullmatch(name)
    if backup:
        return VolumeName("backup", "raw", int(backup[1] or 0))
    packed, plain = PACKED.fullmatch(name), IMPORT.fullmatch(name)
    if packed:
        return VolumeName("import", f"ova+{packed[1]}")
    if plain:
        return VolumeName("import", plain[1])
    raise failed(f"unable to parse directory volume name '{name}'")


def _format(file: str) -> str:
    match = FILE.fullmatch(file)
    if not match:
        raise failed(f"unable to parse volume filename '{file}'")
    return match[1]

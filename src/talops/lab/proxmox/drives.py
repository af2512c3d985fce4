"""Property strings (`scsi0=local-lvm:20,ssd=1`): taking them apart and putting them together."""

from __future__ import annotations

import re

from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.params import UNKNOWN

BUSES = {"ide": 4, "sata": 6, "scsi": 31, "virtio": 16}
SPECIAL = ("efidisk0", "tpmstate0")
GIB = 1 << 30
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_LIMITS = [
    f"{kind}{direction}{maximum}{length}"
    for kind in ("iops", "mbps", "bps")
    for direction in ("", "_rd", "_wr")
    for maximum in ("", "_max")
    for length in ("", "_length")
]
DRIVE_KEYS = frozenset(
    [
        "file",
        "volume",
        "aio",
        "backup",
        "cache",
        "detect_zeroes",
        "discard",
        "format",
        "import-from",
        "iothread",
        "media",
        "model",
        "product",
        "queues",
        "replicate",
        "rerror",
        "ro",
        "scsiblock",
        "serial",
        "shared",
        "size",
        "snapshot",
        "ssd",
        "vendor",
        "werror",
        "wwn",
        "efitype",
        "ms-cert",
        "pre-enrolled-keys",
        "version",
        *_LIMITS,
    ]
)
DRIVE_ENUMS = {
    "aio": {"native", "threads", "io_uring"},
    "cache": {"none", "writethrough", "writeback", "unsafe", "directsync"},
    "discard": {"ignore", "on"},
    "efitype": {"2m", "4m"},
    "format": {"raw", "qcow", "qed", "qcow2", "vmdk", "cloop"},
    "media": {"cdrom", "disk"},
    "version": {"v1.2", "v2.0"},
}


def is_drive(key: str) -> bool:
    if key in SPECIAL:
        return True
    match = re.fullmatch(r"(ide|sata|scsi|virtio)(\d+)", key)
    return bool(match and int(match[2]) < BUSES[match[1]])


def parse(text: str, default_key: str) -> dict[str, str]:
    """`a,b=c` with the first bare word under `default_key`; empty parts are passed over."""
    found: dict[str, str] = {}
    for part in text.split(","):
        if not part:
            continue
        key, separator, value = part.partition("=")
        if separator:
            found[key] = value
        else:
            found[default_key] = part
    return found


def parse_drive(key: str, text: str) -> dict[str, str]:
    drive = parse(text, "file")
    if "volume" in drive:
        drive["file"] = drive.pop("volume")
    problem = next((f"{key}.{k}: {UNKNOWN}" for k in drive if k not in DRIVE_KEYS), "")
    for name, allowed in DRIVE_ENUMS.items():
        if name in drive and drive[name] not in allowed:
            wanted = ", ".join(sorted(allowed))
            problem = (
                f"{key}.{name}: value '{drive[name]}' does not have a value in the enumeration "
                f"'{wanted}'"
            )
    if "file" not in drive:
        problem = f"{key}.file: property is missing and it is not optional"
    if problem:
        raise invalid({key: f"invalid format - format error\n{problem}"})
    return drive


def format_drive(drive: dict[str, str]) -> str:
    rest = sorted((key, value) for key, value in drive.items() if key != "file")
    return ",".join([drive["file"], *(f"{key}={value}" for key, value in rest)])


def is_cdrom(drive: dict[str, str]) -> bool:
    return drive.get("media") == "cdrom" or drive["file"] in {"none", "cdrom"}


def is_cloudinit(drive: dict[str, str]) -> bool:
    return bool(re.search(r"[:/](?:vm-\d+-)?cloudinit(?:\.\w+)?$", drive["file"]))


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text)
    if not match:
        raise ValueError(text)
    return int(float(match[1]) * UNITS[match[2]])


def format_size(size: int) -> str:
    """The largest unit that divides it, as Proxmox writes sizes."""
    for unit in ("T", "G", "M", "K"):
        if size >= UNITS[unit] and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)

"""Property strings (`scsi0=local-lvm:20,ssd=1`): parse and format."""

from __future__ import annotations

import re

BUSES = {"ide": 4, "sata": 6, "scsi": 31, "virtio": 16}
SPECIAL = ("efidisk0", "tpmstate0")
GIB = 1 << 30
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def is_drive(key: str) -> bool:
    if key in SPECIAL:
        return True
    match = re.fullmatch(r"(ide|sata|scsi|virtio)(\d+)", key)
    return bool(match and int(match[2]) < BUSES[match[1]])


def parse(text: str, default_key: str) -> dict[str, str]:
    """`a,b=c` with the first bare word under `default_key`; empty parts are ignored."""
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


def parse_drive(text: str) -> dict[str, str]:
    """Parses a drive's property string that is known to be valid."""
    drive = parse(text, "file")
    if "volume" in drive:
        drive["file"] = drive.pop("volume")
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
    """The largest unit that divides it, as Proxmox writes sizes; zero is written as 0T."""
    if not size:
        return "0T"
    for unit in ("T", "G", "M", "K"):
        if size >= UNITS[unit] and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)

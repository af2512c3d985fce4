"""Formats of the options of storages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.lab.proxmox.schema.netformats import is_address, like
from talops.lab.proxmox.schema.params import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = frozenset({"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import", "none"})
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
SMALLEST_BLOCK, LARGEST_BLOCK = 512, 16 << 20
LONGEST_PATH, LONGEST_PART = 1023, 255


def _content(value: str) -> None:
    if value not in CONTENT:
        raise FormatError(f"invalid content type '{value}'\n")


def _blocksize(value: str) -> None:
    found = re.fullmatch(r"([1-9][0-9]*)([kmKM]?)", value)
    if value and not found:
        raise FormatError(
            f"invalid ZFS blocksize format '{value}'. Use a positive number "
            "(no leading zeros) with an optional 'k' or 'm' suffix.\n"
        )
    size = int(found[1]) * UNITS[found[2].lower()] if found else SMALLEST_BLOCK
    if not SMALLEST_BLOCK <= size <= LARGEST_BLOCK or size & (size - 1):
        raise FormatError(
            f"value '{value}' is not a valid ZFS blocksize. Must be a power of 2 "
            "between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m).\n"
        )


def _folder(value: str) -> None:
    """A directory for a kind of content, relative to that of the storage."""
    kind, _, path = value.partition("=")
    if re.fullmatch(r"[a-z]+", kind) and re.fullmatch(r"[^.]*(?:\.?[^.]+)+", path):
        _content(kind)
        parts = path.split("/")
        if len(path) < LONGEST_PATH and all(len(part) < LONGEST_PART for part in parts):
            return
    raise FormatError(f"invalid override '{value}'\n")


def _portal(value: str) -> None:
    """A name or an address with a port, as `host:3260`, `[fd00::1]:3260` or `fd00::1.3260`."""
    name = r"[A-Za-z0-9.-]+"
    bracketed = re.fullmatch(r"\[(.+)\](?::\d+)?", value)
    if bracketed and (is_address(bracketed[1], 6) or re.fullmatch(name, bracketed[1])):
        return
    bare = re.sub(r"\.\d+$", "", value)
    if re.fullmatch(rf"{name}(?::\d+)?", value) or is_address(value, 6) or is_address(bare, 6):
        return
    raise FormatError("value does not look like a valid portal address\n")


STORAGE_FORMATS: dict[str, Callable[[str], None]] = {
    "pve-dir-override": _folder,
    "pve-storage-content": _content,
    "pve-storage-options": like(r"\S+", "invalid options '{}'"),
    "pve-storage-path": like(r"/[^;()]+.*", "value does not look like a valid absolute path"),
    "pve-storage-portal-dns": _portal,
    "pve-storage-vgname": like(
        r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]", "lvm name '{}' contains illegal characters"
    ),
    "pve-storage-zfs-blocksize": _blocksize,
}

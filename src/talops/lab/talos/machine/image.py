"""Which Talos an image file contains.

The lab's own images start with one JSON line that says so (`version`, `schematic`); any other file
is judged by its name, as the Image Factory names it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.machine import Machine

_VERSION = re.compile(r"v1\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?")
_SCHEMATIC = re.compile(r"[0-9a-f]{64}")
_HEAD = 4096
EMPTY_SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"


@dataclass(frozen=True)
class Image:
    """`on_disk` is a disk image: it needs no installation."""

    version: str
    schematic: str = EMPTY_SCHEMATIC
    on_disk: bool = False


def boot_image(machine: Machine, default_version: str, *, blank: bool = False) -> Image | None:
    """A disk with an OS comes before the CD; None means "no bootable device"."""
    for disk in machine.disks:
        if disk.image is not None and not blank:
            return _read(disk.image, default_version, on_disk=True)
    if machine.cdrom is not None:
        return _read(machine.cdrom, default_version, on_disk=False)
    return None


def installer_image(reference: str) -> Image | None:
    """What an installer reference installs on the disk; None if it names no version."""
    version, schematic = _VERSION.search(reference), _SCHEMATIC.search(reference)
    if version is None:
        return None
    return Image(version[0], schematic[0] if schematic else EMPTY_SCHEMATIC, on_disk=True)


def _read(path: Path, default_version: str, *, on_disk: bool) -> Image:
    head = _first_line(path)
    version = head.get("version") or _first(_VERSION, str(path)) or default_version
    schematic = head.get("schematic") or _first(_SCHEMATIC, str(path)) or EMPTY_SCHEMATIC
    return Image(str(version), str(schematic), on_disk)


def _first_line(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_HEAD).split(b"\n", 1)[0])
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None

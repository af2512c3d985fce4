"""The install disk as a CEL expression for Talos 1.14."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = re.compile(r"(<=|>=|<|>|==)?\s*([\d.,]+)\s*([kmgtpe]?)(i?)b?", re.IGNORECASE)
_PREFIXES = "kmgtpe"
_TYPES = {
    "nvme": 'disk.transport == "nvme"',
    "sd": 'disk.transport == "mmc"',
    "hdd": "disk.rotational",
    "ssd": "!disk.rotational",
}
_PATTERNS = {
    "uuid": "uuid",
    "wwid": "wwid",
    "model": "model",
    "serial": "serial",
    "modalias": "modalias",
    "busPath": "bus_path",
}
# No device mapper disks, read-only disks or CDs, as in Talos up to 1.13.
_REAL = ('disk.transport != ""', "!disk.readonly", "!disk.cdrom")


def expression(disk: str | Mapping[str, str]) -> str:
    """`disk` is a device path, or the fields of the main document's `diskSelector`."""
    if isinstance(disk, str):
        quoted = json.dumps(disk)
        # Udev names are links to the device.
        by_link = disk.startswith("/dev/disk/")
        return f"{quoted} in disk.symlinks" if by_link else f"disk.dev_path == {quoted}"
    return " && ".join([*(_condition(key, value) for key, value in disk.items()), *_REAL])


def _condition(key: str, value: str) -> str:
    if key in _PATTERNS:
        return f"glob({json.dumps(value)}, disk.{_PATTERNS[key]})"
    if key == "type" and value in _TYPES:
        return _TYPES[value]
    if key == "size":
        return _size(value)
    raise TalopsError(f"Talos 1.14 cannot select a disk by {key}: {value}")


def _size(text: str) -> str:
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise TalopsError(
            f"{text!r} is not a condition on the size of a disk", hint="write it like '>= 100GB'"
        )
    operator, number, prefix, binary = found.groups()
    power = _PREFIXES.index(prefix.lower()) + 1 if prefix else 0
    amount = int(float(number.replace(",", "")) * (1024 if binary else 1000) ** power)
    return f"disk.size {operator or '=='} {amount}u"

"""Proxmox' option strings (`S:vm-1-disk-0,size=20G,ssd=1`) and sizes."""

from __future__ import annotations

import re
from typing import Any

from talops.lab.provider.kinds import refuse

GIB = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)", flags=re.IGNORECASE)


def parse(text: str, first: str) -> dict[str, str]:
    """`first` names the part that may stand without its key."""
    out: dict[str, str] = {}
    for part in text.split(","):
        key, separator, value = part.strip().partition("=")
        if separator:
            out[key] = value
        elif key:
            out[first] = key
    return out


def join(pairs: dict[str, Any]) -> str:
    return ",".join(f"{key}={plain(value)}" for key, value in pairs.items() if value is not None)


def plain(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def flag(options: dict[str, str], key: str, *, absent: bool) -> bool:
    return options[key] == "1" if key in options else absent


def truth(value: Any, *, absent: bool) -> bool:
    """Proxmox answers 1 and 0 as numbers; as with the real provider, the text "1" is no yes."""
    if value is None:
        return absent
    return value is True or (value == 1 and not isinstance(value, str))


def whole(config: dict[str, Any], key: str, absent: int) -> int:
    """A number that must come as one: text there is an answer that cannot be understood."""
    value = config.get(key, absent)
    if isinstance(value, str):
        refuse(f"cannot decode the VM: cannot unmarshal the text {value!r} of {key} into a number")
    return int(value)


def size(text: str) -> int:
    """Bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        refuse(f"cannot read the disk size {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def seconds(duration: str) -> float:
    """A Go duration such as 15m or 1h30m."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", duration)
    return sum(float(number) * units[unit] for number, unit in parts)

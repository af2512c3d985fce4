"""The named formats of values; one function for each that a pattern cannot describe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.lab.proxmox.access.privileges import PRIVILEGES
from talops.lab.proxmox.schema import api
from talops.lab.proxmox.schema.netformats import NETWORK_FORMATS, like
from talops.lab.proxmox.schema.params import FormatError, parse_string
from talops.lab.proxmox.schema.storageformats import STORAGE_FORMATS
from talops.lab.proxmox.storage.names import split_id
from talops.lab.proxmox.vm.drives import is_drive, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

SEPARATORS = re.compile(r"[,;\s\0]+")
NAME = r"[A-Za-z0-9.\-_]+"
STARTUP = re.compile(r"(?:order=)?\d+|up=\d+|down=\d+|\s*")
USER_SHORTEST, USER_LONGEST, ID_SHORTEST, POOL_LEVELS = 3, 64, 2, 3
PHYS_BITS = range(8, 65)
HOTPLUG = frozenset({"network", "disk", "cpu", "memory", "usb", "cloudinit"})


def split_list(text: str) -> list[str]:
    """A list as Proxmox reads it: commas, semicolons and blanks separate the entries."""
    return [part for part in SEPARATORS.split(text) if part]


def check_format(name: str, value: str, path: str) -> None:
    """Refuse a value that does not match the format."""
    listed, optional = name.endswith("-list"), name.endswith("-opt")
    base = name.removesuffix("-list") if listed else name.removesuffix("-opt")
    keys = api.string_format(name)
    if keys:
        found = parse_string(keys, value, path, check_format)
        if name in VALIDATORS:
            VALIDATORS[name](found)
        return
    check = FORMATS.get(base)
    if check is None or (optional and not value):
        return
    for part in split_list(value) if listed else [value]:
        check(part)


def parse(name: str, value: str, path: str = "") -> dict[str, str]:
    """The keys of a property string in that format."""
    keys = api.string_format(name)
    if keys is None:
        raise FormatError(f"undefined format '{name}'\n")
    return parse_string(keys, value, path, check_format)


def _ident(kind: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if len(value) < ID_SHORTEST:
            raise FormatError(f"{kind} ID '{value}' cannot be shorter than 2 characters\n")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]", value):
            raise FormatError(f"{kind} ID '{value}' contains illegal characters\n")

    return check


def _userid(value: str) -> None:
    if len(value) < USER_SHORTEST:
        raise FormatError(f"user name '{value}' is too short\n")
    if len(value) > USER_LONGEST:
        raise FormatError(f"user name '{value}' is too long ({len(value)} > 64)\n")
    if not re.fullmatch(r"[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+", value):
        raise FormatError(f"value '{value}' does not look like a valid user name\n")


def _poolid(value: str) -> None:
    if len(value.split("/")) > POOL_LEVELS:
        raise FormatError(f"pool name '{value}' nested too deeply (max levels = 3)\n")
    if not re.fullmatch(rf"{NAME}(?:/{NAME}){{0,2}}", value):
        raise FormatError(f"pool name '{value}' contains invalid characters\n")


def _privilege(value: str) -> None:
    if value not in PRIVILEGES:
        raise FormatError(f"invalid privilege '{value}'\n")


def _volume(value: str) -> None:
    if not split_id(value)[0]:
        raise FormatError(f"unable to parse volume ID '{value}'\n")


def _volume_or_path(value: str) -> None:
    if not value.startswith("/"):
        _volume(value)


def _drive_file(value: str) -> None:
    if value not in {"none", "cdrom"}:
        _volume_or_path(value)


def _size(value: str) -> None:
    try:
        parse_size(re.sub(r"(?<=[KMGT])iB$", "", value))
    except ValueError:
        raise FormatError(f"value does not look like a valid disk size: {value}\n") from None


def _startup(value: str) -> None:
    if not value or not all(STARTUP.fullmatch(part) for part in value.split(",")):
        raise FormatError("unable to parse startup options\n")


def _bootdev(value: str) -> None:
    special = value.startswith(("efidisk", "tpmstate", "unused"))
    others = re.fullmatch(r"(net|usb|hostpci)\d+", value)
    if not ((is_drive(value) and not special) or (others and api.vm_options().find(value))):
        raise FormatError(f"invalid boot device '{value}'\n")


def _bootdisk(value: str) -> None:
    if not is_drive(value):
        raise FormatError(f"invalid boot disk '{value}'\n")


def _hotplug(value: str) -> None:
    for feature in [] if value in {"0", "1"} else split_list(value):
        if feature not in HOTPLUG:
            raise FormatError(f"invalid hotplug feature '{feature}'\n")


def _cpuset(value: str) -> None:
    parts = value.rstrip(",").split(",") if value else []
    ranges = [re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part) for part in parts]
    if not all(found and int(found[2] or found[1]) >= int(found[1]) for found in ranges):
        raise FormatError("unable to parse cpuset option\n")


def _phys_bits(value: str) -> None:
    if value != "host" and not (value.isdigit() and int(value) in PHYS_BITS):
        raise FormatError("value must be an integer between 8 and 64 or 'host'\n")


def _storage_pair(value: str) -> None:
    try:
        pair = value.split(":") if re.fullmatch(r"[^:]+:[^:]+", value) else [value]
        for part in [] if value == "1" else pair:
            _ident("storage")(part)
    except FormatError as error:
        raise FormatError(f"entry '{value}' contains invalid ID - {error}\n\n") from None


def _task_status(value: str) -> None:
    if value.lower() not in {"ok", "error", "warning", "unknown"}:
        raise FormatError(f"invalid status '{value}'\n")


def _cpu(found: dict[str, str]) -> None:
    model = found.get("cputype", "")
    if not model:
        raise FormatError("CPU is missing cputype\n")
    if model.startswith("custom-"):
        raise FormatError(f"Custom cputype '{model.removeprefix('custom-')}' not found\n")
    if model not in api.cpu_models():
        raise FormatError(
            f"Built-in cputype '{model}' is not defined (missing 'custom-' prefix?)\n"
        )
    flags = [flag[1:] for flag in found.get("flags", "").split(";") if flag]
    if any(flag not in api.cpu_flags() for flag in flags):
        wanted = ", ".join(api.cpu_flags())
        raise FormatError(f"VM-specific CPU flags must be a subset of: {wanted}\n")
    if "reported-model" in found:
        raise FormatError("Property 'reported-model' not allowed in VM-specific CPU config.\n")


VALIDATORS: dict[str, Callable[[dict[str, str]], None]] = {"pve-vm-cpu-conf": _cpu}
FORMATS: dict[str, Callable[[str], None]] = {
    **NETWORK_FORMATS,
    "disk-size": _size,
    "email": like(
        r"0|[\w+~-]+(?:\.[\w+~-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*",
        "value does not look like a valid email address",
    ),
    "pve-configid": like(r"[A-Za-z][A-Za-z0-9_-]+", "invalid configuration ID '{}'"),
    "pve-groupid": like(NAME, "group name '{}' contains invalid characters"),
    "pve-cpuset": _cpuset,
    "pve-ha-resource-or-vm-id": like(
        r"[a-z]+:\S+|\d+", "value does not look like a valid ha resource id"
    ),
    "pve-hotplug-features": _hotplug,
    "pve-phys-bits": _phys_bits,
    "pve-poolid": _poolid,
    "pve-priv": _privilege,
    "pve-qm-bootdev": _bootdev,
    "pve-qm-bootdisk": _bootdisk,
    "pve-realm": like(r"[A-Za-z][A-Za-z0-9.\-_]+", "value does not look like a valid realm"),
    "pve-roleid": like(NAME, "role name '{}' contains invalid characters"),
    "pve-startup-order": _startup,
    "pve-storage-id": _ident("storage"),
    **STORAGE_FORMATS,
    "pve-tag": like(r"[A-Za-z0-9_][A-Za-z0-9_\-+.]*", "invalid characters in tag"),
    "pve-task-status-type": _task_status,
    "pve-tokenid": like(
        r"[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+",
        "value '{}' does not look like a valid token ID",
    ),
    "pve-userid": _userid,
    "pve-vmid": like(r"[1-9][0-9]{2,8}", "value does not look like a valid VM ID"),
    "pve-volume-id": _volume,
    "pve-volume-id-or-absolute-path": _volume_or_path,
    "pve-volume-id-or-qm-path": _drive_file,
    "storage-pair": _storage_pair,
    "urlencoded": like(r"[-%a-zA-Z0-9_.!~*'()]*", "invalid urlencoded string: {}"),
}

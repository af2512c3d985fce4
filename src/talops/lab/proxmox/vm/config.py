"""Converts the parameters of a client to the configuration that Proxmox stores."""

from __future__ import annotations

import re
import secrets
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.schema.formats import parse as parse_string
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.allocation import NEW_DISK
from talops.lab.proxmox.storage.names import read_name, split_id
from talops.lab.proxmox.vm.drives import is_cdrom, is_drive, parse, parse_drive
from talops.lab.proxmox.vm.params import NOT_CONFIG, kind

if TYPE_CHECKING:
    from talops.lab.proxmox.storage.storages import Storages

SSH_KEY = re.compile(r"(?:ssh-[a-z0-9-]+|ecdsa-[\w-]+|sk-[\w@.-]+) [A-Za-z0-9+/=]{16,}.*")


def normalise(params: dict[str, Any]) -> dict[str, Any]:
    """The configuration keys among the parameters; drives stay apart until they have volumes."""
    config: dict[str, Any] = {}
    for key, value in params.items():
        if key == "cdrom":
            config["ide2"] = {**parse_drive(value), "media": "cdrom"}
        elif key not in NOT_CONFIG:
            config[key] = _value(key, value)
    return config


def _value(key: str, value: Any) -> Any:
    if is_drive(key):
        return parse_drive(value)
    if kind(key) == "net":
        return format_net(value)
    if key == "description":
        return value.rstrip()
    if key == "tags":
        return ";".join(sorted({tag.lower() for tag in split_list(value)}))
    if key == "memory":
        return str(value).removeprefix("current=")
    if key == "sshkeys":
        _check_keys(unquote(value))
    return value


def _check_keys(text: str) -> None:
    if any(line.strip() and not SSH_KEY.fullmatch(line.strip()) for line in text.split("\n")):
        raise failed("SSH public key validation error")


def check_drives(storages: Storages, config: dict[str, Any]) -> None:
    """Checks beyond the format of a property string: imports, ISOs, names of storages."""
    for key in sorted(key for key in config if is_drive(key)):
        drive = config[key]
        if "import-from" in drive:
            _check_import(key, drive)
        storage, name = split_id(drive["file"])
        if storage and not NEW_DISK.fullmatch(drive["file"]) and name != "cloudinit":
            content = read_name(storages.get(storage)["type"], name).content
            if content == "iso" and not is_cdrom(drive):
                raise invalid({key: "explicit 'media=cdrom' is required for iso images"})
        if is_cdrom(drive):
            drive["media"] = "cdrom"


def _check_import(key: str, drive: dict[str, str]) -> None:
    match = NEW_DISK.fullmatch(drive["file"])
    if not match or float(match[2]):
        syntax = "use <storage ID>:0,import-from=<source>"
        raise invalid({key: f"'import-from' requires special syntax - {syntax}"})
    needed = {"efidisk0": ("efitype", "pre-enrolled-keys"), "tpmstate0": ("version",)}
    for name in needed.get(key, ()):
        if name not in drive:
            raise invalid({key: f"need to specify '{name}' when using 'import-from'"})


def format_net(text: str) -> str:
    """`model=virtio,macaddr=…,bridge=…` becomes `virtio=MAC,bridge=…` with sorted options."""
    given = parse_string("pve-qm-net", text)
    model = given.pop("model")
    mac = given.pop("macaddr", "") or _new_mac()
    options = [f"{key}={value}" for key, value in sorted(given.items())]
    return ",".join([f"{model}={mac}", *options])


def _new_mac() -> str:
    return ":".join(["BC", "24", "11", *(f"{byte:02X}" for byte in secrets.token_bytes(3))])


def with_identity(config: dict[str, Any], now: int) -> dict[str, Any]:
    """The keys that Proxmox adds automatically."""
    full = dict(config)
    full.setdefault("smbios1", f"uuid={uuid.uuid4()}")
    if full.get("vmgenid", "1") == "1":
        full["vmgenid"] = str(uuid.uuid4())
    full["meta"] = f"creation-qemu=10.1.2,ctime={now}"
    return full


def new_identity(config: dict[str, Any]) -> dict[str, Any]:
    """A clone is another machine: its UUID is new, the other SMBIOS values stay."""
    smbios = {**parse(str(config.get("smbios1", "")), "uuid"), "uuid": str(uuid.uuid4())}
    text = ",".join(f"{key}={value}" for key, value in sorted(smbios.items()))
    new = {"vmgenid": str(uuid.uuid4())} if config.get("vmgenid") else {}
    return {**config, "smbios1": text, **new}


def default_boot(config: dict[str, Any]) -> str:
    """The first disk, the first CD and the first network card, as far as they exist."""
    drives = {key: parse_drive(str(config[key])) for key in config if is_drive(key)}
    found = [_first(drives, cdrom=False), _first(drives, cdrom=True)]
    found.append(next((f"net{n}" for n in range(32) if config.get(f"net{n}")), ""))
    devices = ";".join(device for device in found if device)
    return f"order={devices}" if devices else " "


def _first(drives: dict[str, dict[str, str]], *, cdrom: bool) -> str:
    buses = ("ide", "scsi", "virtio", "sata")
    order = sorted(
        (buses.index(kind(key)), int(key.removeprefix(kind(key))), key)
        for key, drive in drives.items()
        if kind(key) in buses and is_cdrom(drive) is cdrom
    )
    return order[0][2] if order else ""


def check_boot(changes: dict[str, Any], after: dict[str, Any]) -> None:
    """Every boot device must exist."""
    order = parse(str(changes.get("boot", "")), "legacy").get("order", "")
    for device in split_list(order):
        if device not in after:
            raise failed(f"invalid bootorder: device '{device}' does not exist'")


def check_balloon(changes: dict[str, Any], after: dict[str, Any]) -> None:
    touched = {"memory", "balloon"} & set(changes)
    if touched and int(after.get("balloon", 0)) > int(after.get("memory", 512)):
        raise failed("balloon value too large (must be smaller than assigned memory)")

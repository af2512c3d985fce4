"""Turning what a client sent into the configuration that Proxmox keeps."""

from __future__ import annotations

import ipaddress
import re
import secrets
import uuid
from typing import Any

from talops.lab.proxmox.drives import is_drive, parse, parse_drive
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.params import UNKNOWN
from talops.lab.proxmox.vmparams import NOT_CONFIG, kind

MODELS = frozenset(
    [
        "e1000",
        "e1000-82540em",
        "e1000-82544gc",
        "e1000-82545em",
        "e1000e",
        "i82551",
        "i82557b",
        "i82559er",
        "ne2k_isa",
        "ne2k_pci",
        "pcnet",
        "rtl8139",
        "virtio",
        "vmxnet3",
    ]
)
NET_KEYS = frozenset({"bridge", "firewall", "link_down", "mtu", "queues", "rate", "tag", "trunks"})
MAC = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
NAME = re.compile(
    r"(?=.{1,63}(?:\.|$))[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*"
)


def normalise(params: dict[str, Any]) -> dict[str, Any]:
    """Everything but drives, which need a storage. Wrong values are reported together."""
    config: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for key, value in params.items():
        if key in NOT_CONFIG:
            continue
        try:
            config[key] = _value(key, value)
        except ValueError as error:
            errors[key] = str(error)
    if errors:
        raise invalid(errors)
    return config


def _value(key: str, value: Any) -> Any:
    if kind(key) == "net":
        return format_net(value)
    if key == "description":
        return value.rstrip()
    if key == "tags":
        return ";".join(sorted({tag for tag in re.split(r"[;, ]", value) if tag}))
    if key == "memory":
        return _memory(value)
    if key == "name" and not NAME.fullmatch(value):
        raise ValueError("invalid format - value does not look like a valid DNS name\n")
    if kind(key) == "serial" and value != "socket" and not value.startswith("/dev/"):
        raise ValueError("value does not match the regex pattern")
    if kind(key) == "hostpci":
        _check_hostpci(value)
    if kind(key) == "ipconfig":
        _check_ipconfig(value)
    if is_drive(key):
        return _drive(key, value)
    return value


def _drive(key: str, value: str) -> dict[str, str]:
    drive = parse_drive(key, value)
    if ":iso/" in drive["file"] and drive.get("media") != "cdrom":
        raise ValueError("explicit 'media=cdrom' is required for iso images")
    if "import-from" in drive and not drive["file"].endswith(":0"):
        raise ValueError(
            "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"
        )
    return drive


def _check_ipconfig(value: str) -> None:
    given = parse(value, "ip")
    unknown = set(given) - {"ip", "gw", "ip6", "gw6"}
    if unknown:
        raise ValueError(f"invalid format - format error\n{min(unknown)}: {UNKNOWN}")
    for key, gateway in (("ip", "gw"), ("ip6", "gw6")):
        if gateway in given and key not in given:
            raise ValueError(f"gateway specified without specifying an {key} address")
        if given.get(key, "dhcp") not in {"dhcp", "auto", "manual"}:
            _check_cidr(given[key])


def _check_cidr(text: str) -> None:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        text = ""
    if "/" not in text:
        raise ValueError("invalid format - format error\nip: value does not look like a network")


def _memory(value: str) -> str:
    text = value.removeprefix("current=")
    if not text.isdigit() or int(text) < 16:  # noqa: PLR2004  (Proxmox' own minimum)
        raise ValueError(
            "invalid format - format error\nmemory.current: value must have a minimum value of 16"
        )
    return text


def _check_hostpci(value: str) -> None:
    device = parse(value, "host")
    if ("host" in device) == ("mapping" in device):
        raise ValueError("either 'host' or 'mapping' must be set")


def format_net(text: str) -> str:
    """`model=virtio,macaddr=…,bridge=…` becomes `virtio=MAC,bridge=…` with sorted options."""
    given = parse(text, "model")
    model = given.pop("model", "")
    for name in MODELS & set(given):
        model, given["macaddr"] = name, given.pop(name)
    mac = given.pop("macaddr", "") or _new_mac()
    if model not in MODELS:
        raise ValueError(f"invalid format - format error\nmodel: unknown model '{model}'")
    if not MAC.fullmatch(mac):
        raise ValueError(
            "invalid format - format error\nmacaddr: value does not look like a valid MAC"
        )
    unknown = set(given) - NET_KEYS
    if unknown:
        raise ValueError(
            f"invalid format - format error\n{min(unknown)}: property is not defined in "
            "schema and the schema does not allow additional properties"
        )
    tag = given.get("tag")
    if tag is not None and not (tag.isdigit() and 1 <= int(tag) <= 4094):  # noqa: PLR2004
        raise ValueError(
            "invalid format - format error\ntag: value must have a maximum value of 4094"
        )
    options = [f"{key}={value}" for key, value in sorted(given.items())]
    return ",".join([f"{model}={mac}", *options])


def _new_mac() -> str:
    return ":".join(["BC", "24", "11", *(f"{byte:02X}" for byte in secrets.token_bytes(3))])


def with_identity(config: dict[str, Any], now: int) -> dict[str, Any]:
    """The keys that Proxmox adds by itself."""
    full = dict(config)
    full.setdefault("smbios1", f"uuid={uuid.uuid4()}")
    full.setdefault("vmgenid", str(uuid.uuid4()))
    full["meta"] = f"creation-qemu=10.1.2,ctime={now}"
    return full


def new_identity(config: dict[str, Any], now: int) -> dict[str, Any]:
    return with_identity({k: v for k, v in config.items() if k not in {"smbios1", "vmgenid"}}, now)


def check_boot(changes: dict[str, Any], after: dict[str, Any]) -> None:
    """What is to be booted from must be there."""
    order = parse(str(changes.get("boot", "")), "legacy").get("order", "")
    for device in order.split(";"):
        if device and device not in after:
            raise failed(f"invalid bootorder: device '{device}' does not exist'")


def check_balloon(changes: dict[str, Any], after: dict[str, Any]) -> None:
    touched = {"memory", "balloon"} & set(changes)
    if touched and int(after.get("balloon", 0)) > int(after.get("memory", 512)):
        raise failed("balloon value too large (must be smaller than assigned memory)")

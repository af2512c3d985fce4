"""Turning what a client sent into the configuration that Proxmox keeps."""

from __future__ import annotations

import re
import secrets
import uuid
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.disks import is_new, storage_of
from talops.lab.proxmox.drives import is_cdrom, is_cloudinit, is_drive, parse, parse_drive
from talops.lab.proxmox.errors import PveError, denied, invalid
from talops.lab.proxmox.vmparams import NOT_CONFIG, kind, right_for

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

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
    if is_drive(key):
        return parse_drive(key, value)
    return value


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


# -- rights ------------------------------------------------------------------------------------


def check_rights(call: Call, config: dict[str, Any], vmid: int, pool: str | None = None) -> None:
    """Each key needs its privilege on the VM (or on the pool that it is created in)."""
    if call.is_root:
        return
    for key, value in config.items():
        if key == "template" and not value:
            continue
        _need(call, vmid, pool, _right(call, key, value))
        if is_drive(key) and isinstance(value, dict):
            _check_volume(call, value)
        if kind(key) == "net":
            _check_bridge(call, str(value))


def _right(call: Call, key: str, value: Any) -> str:
    if is_drive(key) and isinstance(value, dict) and is_cdrom(value) and not is_cloudinit(value):
        return "VM.Config.CDROM"
    right = right_for(key)
    if right is None:
        raise PveError(403, f"only root can set '{key}' config")
    if kind(key) == "hostpci":
        mapping = parse(str(value), "host").get("mapping")
        if not mapping:
            raise PveError(403, f"only root can set '{key}' config for non-mapped devices")
        call.need(f"/mapping/pci/{mapping}", "Mapping.Use")
    if kind(key) == "serial" and value != "socket":
        raise PveError(403, f"only root can modify '{key}' config for real devices")
    return right


def _need(call: Call, vmid: int, pool: str | None, right: str) -> None:
    if pool and call.may(f"/pool/{pool}", right):
        return
    if not call.may(f"/vms/{vmid}", right):
        raise denied(f"/vms/{vmid}, {right}")


def _check_volume(call: Call, drive: dict[str, str]) -> None:
    storage = storage_of(drive)
    if not storage:
        return
    if is_new(drive):
        call.need(f"/storage/{storage}", "Datastore.AllocateSpace")
        source = drive.get("import-from", "")
        if source:
            call.need(
                f"/storage/{source.split(':')[0]}",
                "Datastore.Audit",
                "Datastore.AllocateSpace",
                any_of=True,
            )
    elif is_cdrom(drive):
        call.need(f"/storage/{storage}", "Datastore.Audit", "Datastore.AllocateSpace", any_of=True)


def _check_bridge(call: Call, net: str) -> None:
    options = parse(net, "model")
    bridge, tag = options.get("bridge"), options.get("tag")
    if not bridge:
        return
    path = f"/sdn/zones/localnetwork/{bridge}"
    if tag and call.may(f"{path}/{tag}", "SDN.Use"):
        return
    call.need(path, "SDN.Use")

"""The `initialization` block and Proxmox' cloud-init keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from talops.lab.provider import options
from talops.lab.provider.resources.vm import drives
from talops.lab.provider.resources.vm.devices import first

if TYPE_CHECKING:
    from talops.lab.provider.resources.vm.drives import Drive
    from talops.lab.provider.values import Values

MASKED = "**********"
_FILES = {
    "meta_data_file_id": "meta",
    "network_data_file_id": "network",
    "user_data_file_id": "user",
    "vendor_data_file_id": "vendor",
}


def parameters(block: Values, *, upgrade: Any) -> dict[str, str]:
    out: dict[str, str] = {}
    files = {key: block[name] for name, key in _FILES.items() if block[name]}
    if files:
        out["cicustom"] = options.join(files)
    for i, item in enumerate(block["ip_config"] or []):
        told = _addresses(item)
        if told:
            out[f"ipconfig{i}"] = options.join(told)
    out |= _dns(first(block, "dns") or {}) | _account(first(block, "user_account") or {})
    if block["type"]:
        out["citype"] = block["type"]
    if upgrade is not None:
        out["ciupgrade"] = options.plain(bool(upgrade))
    return out


def _addresses(item: Values) -> dict[str, str]:
    four, six = first(item, "ipv4") or {}, first(item, "ipv6") or {}
    told = {
        "gw": four.get("gateway"),
        "gw6": six.get("gateway"),
        "ip": four.get("address"),
        "ip6": six.get("address"),
    }
    return {key: value for key, value in told.items() if value}


def _dns(block: Values) -> dict[str, str]:
    out = {"nameserver": " ".join(block.get("servers") or [])}
    out["searchdomain"] = block.get("domain") or ""
    return {key: value for key, value in out.items() if value}


def _account(block: Values) -> dict[str, str]:
    password = block.get("password") or ""
    out = {
        "sshkeys": quote("\n".join(block.get("keys") or []), safe=""),
        "cipassword": "" if password == MASKED else password,
        "ciuser": block.get("username") or "",
    }
    return {key: value for key, value in out.items() if value}


def existing_drive(config: Values, vmid: int) -> tuple[str, Drive] | None:
    for slot, drive in drives.present(config).items():
        if drive.is_cloud_init(vmid):
            return slot, drive
    return None


def new_drive(block: Values) -> str:
    drive = drives.Drive(f"{block['datastore_id']}:cloudinit", format=block["file_format"] or None)
    return drive.text()


def read(config: Values, vmid: int) -> Values:
    """The block as Proxmox tells it; empty if there is no cloud-init about this VM."""
    out: Values = {}
    drive = existing_drive(config, vmid)
    if drive is not None:
        out |= {
            "interface": drive[0],
            "datastore_id": drive[1].store,
            "file_format": drive[1].format,
        }
    if "searchdomain" in config or "nameserver" in config:
        servers = str(config.get("nameserver") or "").split()
        out["dns"] = [{"domain": config.get("searchdomain", ""), "servers": servers}]
    addresses = _read_addresses(config)
    if addresses:
        out["ip_config"] = addresses
    if any(key in config for key in ("ciuser", "cipassword", "sshkeys")):
        out["user_account"] = [_read_account(config)]
    if "cicustom" in config:
        told = options.parse(str(config["cicustom"]), "")
        out |= {name: told.get(key, "") for name, key in _FILES.items()}
    elif out:
        out |= dict.fromkeys(_FILES, "")
    if out or "citype" in config:
        out["type"] = config.get("citype", "")
    if out or "ciupgrade" in config:
        out["upgrade"] = options.truth(config.get("ciupgrade"), absent=True)
    return out


def _read_addresses(config: Values) -> list[Values]:
    found = {}
    for key, text in config.items():
        match = re.fullmatch(r"ipconfig(\d+)", key)
        if match:
            found[int(match[1])] = options.parse(str(text), "")
    return [_read_address(found.get(i, {})) for i in range(max(found, default=-1) + 1)]


def _read_address(told: dict[str, str]) -> Values:
    def family(address: str, gateway: str) -> list[Values]:
        if address not in told and gateway not in told:
            return []
        return [{"address": told.get(address, ""), "gateway": told.get(gateway, "")}]

    return {"ipv4": family("ip", "gw"), "ipv6": family("ip6", "gw6")}


def _read_account(config: Values) -> Values:
    keys = unquote(str(config.get("sshkeys") or ""))
    return {
        "keys": [line for line in keys.split("\n") if line],
        "password": config.get("cipassword", ""),
        "username": config.get("ciuser", ""),
    }

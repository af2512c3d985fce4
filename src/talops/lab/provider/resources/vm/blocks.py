"""The blocks of the state from Proxmox' configuration.

A block that nobody configured is shown only when it says more than the defaults do, and on a clone
not at all: what a template brought along is nobody's difference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options
from talops.lab.provider.resources.vm import cloudinit, schema
from talops.lab.provider.resources.vm.devices import defaults, first
from talops.lab.provider.resources.vm.drives import parse, present

if TYPE_CHECKING:
    from talops.lab.provider.schema import NestedBlock
    from talops.lab.provider.values import Values


def read(config: Values, state: Values, vmid: int, *, cloned: bool) -> Values:
    out: Values = {}
    _agent(out, config, state, cloned=cloned)
    _cdrom(out, config, state, cloned=cloned)
    _shown(out, "cpu", schema.CPU, _cpu(config), state, cloned=cloned)
    _shown(out, "memory", schema.MEMORY, _memory(config), state, cloned=cloned)
    _tpm(out, config, state, cloned=cloned)
    for name, found in (("hostpci", _host_pci(config)), ("serial_device", _serials(config))):
        if not cloned or state.get(name):
            out[name] = found
    _cloud_init(out, config, state, vmid, cloned=cloned)
    _operating_system(out, config, state, cloned=cloned)
    _startup(out, config, state, cloned=cloned)
    _vga(out, config, state)
    return out


def _shown(
    out: Values, name: str, nested: NestedBlock, found: Values, state: Values, *, cloned: bool
) -> None:
    if state.get(name):
        out[name] = [found]
        return
    usual = defaults(nested)
    differs = any((found.get(key) or usual[key]) != usual[key] for key in usual)
    if differs and not cloned:
        out[name] = [found]


def _agent(out: Values, config: Values, state: Values, *, cloned: bool) -> None:
    current = first(state, "agent")
    if cloned and current is None:
        return
    if "agent" not in config:
        out["agent"] = []
        return
    told = options.parse(str(config["agent"]), "enabled")
    found = {
        "enabled": told.get("enabled") == "1",
        "timeout": (current or {}).get("timeout") or "15m",
        "trim": options.flag(told, "fstrim_cloned_disks", absent=False),
        "type": told.get("type", "virtio"),
        "wait_for_ip": (current or {}).get("wait_for_ip") or [],
    }
    if current is not None or {**found, "wait_for_ip": []} != defaults(schema.AGENT):
        out["agent"] = [found]


def _cdrom(out: Values, config: Values, state: Values, *, cloned: bool) -> None:
    current = first(state, "cdrom")
    slot = (current or {}).get("interface") or "ide3"
    drive = present(config).get(slot)
    if drive is None:
        out["cdrom"] = []
    elif not cloned or current is not None:
        kept = current is not None and not current.get("file_id")
        # `enabled` is a relic that only the configuration knows about.
        known = {"enabled": bool((current or {}).get("enabled"))}
        out["cdrom"] = [{**known, "file_id": "" if kept else drive.volume, "interface": slot}]


def _cpu(config: Values) -> Values:
    told = options.parse(str(config.get("cpu", "qemu64")), "cputype")
    limit = float(config.get("cpulimit") or 0)
    return {
        "affinity": config.get("affinity", ""),
        "architecture": config.get("arch", ""),
        "cores": options.whole(config, "cores", 1),
        "flags": [flag for flag in told.get("flags", "").split(";") if flag],
        "hotplugged": options.whole(config, "vcpus", 0),
        "limit": int(limit) if limit.is_integer() else limit,
        "numa": options.truth(config.get("numa"), absent=False),
        "sockets": options.whole(config, "sockets", 1),
        "type": told.get("cputype", "qemu64"),
        "units": options.whole(config, "cpuunits", 0),
    }


def _memory(config: Values) -> Values:
    shared = options.parse(str(config.get("ivshmem", "")), "size").get("size", 0)
    return {
        "dedicated": int(config.get("memory") or 0),
        "floating": int(config.get("balloon") or 0),
        "hugepages": str(config.get("hugepages", "")),
        "keep_hugepages": options.truth(config.get("keephugepages"), absent=False),
        "shared": int(shared),
    }


def _tpm(out: Values, config: Values, state: Values, *, cloned: bool) -> None:
    if "tpmstate0" not in config:
        return
    drive = parse(str(config["tpmstate0"]))
    found = {"datastore_id": drive.store, "version": drive.options.get("version") or "v2.0"}
    usual = {"datastore_id": "local-lvm", "version": "v2.0"}
    if state.get("tpm_state") or (not cloned and found != usual):
        out["tpm_state"] = [found]


def _host_pci(config: Values) -> list[Values]:
    found = []
    for key in sorted(config, key=lambda key: (len(key), key)):
        if re.fullmatch(r"hostpci\d+", key):
            told = options.parse(str(config[key]), "host")
            found.append(
                {
                    "device": key,
                    "id": told.get("host", ""),
                    "mapping": told.get("mapping", ""),
                    "mdev": told.get("mdev", ""),
                    "pcie": options.flag(told, "pcie", absent=False),
                    "rom_file": told.get("romfile", ""),
                    "rombar": options.flag(told, "rombar", absent=True),
                    "xvga": options.flag(told, "x-vga", absent=False),
                }
            )
    return found


def _serials(config: Values) -> list[Values]:
    slots = [i for i in range(schema.MAX_SERIAL) if f"serial{i}" in config]
    last = max(slots, default=-1)
    return [{"device": config.get(f"serial{i}", "")} for i in range(last + 1)]


def _cloud_init(out: Values, config: Values, state: Values, vmid: int, *, cloned: bool) -> None:
    found = cloudinit.read(config, vmid)
    current = first(state, "initialization")
    if cloned and current is None:
        return
    if cloned and current is not None:
        for name in ("user_account", "dns", "ip_config"):
            if not current.get(name):
                found.pop(name, None)
    out["initialization"] = [found] if found else []


def _operating_system(out: Values, config: Values, state: Values, *, cloned: bool) -> None:
    kind = str(config.get("ostype", ""))
    if state.get("operating_system"):
        out["operating_system"] = [{"type": kind}]
    elif not cloned:
        out["operating_system"] = [{"type": kind}] if kind != "other" else []


def _startup(out: Values, config: Values, state: Values, *, cloned: bool) -> None:
    if cloned and not state.get("startup"):
        return
    told = options.parse(str(config.get("startup", "")), "order")
    keys = {"order": "order", "up_delay": "up", "down_delay": "down"}
    found = {name: int(told.get(key, -1)) for name, key in keys.items()}
    out["startup"] = [found] if "startup" in config else []


def _vga(out: Values, config: Values, state: Values) -> None:
    told: dict[str, Any] = options.parse(str(config.get("vga", "type=std")), "type")
    found = {
        "clipboard": told.get("clipboard", ""),
        "memory": int(told.get("memory", 16)),
        "type": told.get("type", ""),
    }
    usual = {"clipboard": "", "memory": 16, "type": "std"}
    out["vga"] = [found] if state.get("vga") or found != usual else []

"""The record of a virtual machine, and reading it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, invalid, missing_vm
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.params import TRUE
from talops.lab.proxmox.vm.drives import is_drive, parse, parse_drive, parse_size
from talops.lab.proxmox.vm.params import is_online

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor

MIB = 1 << 20
PRESSURES = tuple(
    f"pressure{what}{how}" for what in ("cpu", "io", "memory") for how in ("some", "full")
)


@dataclass(frozen=True)
class Vm:
    """`running` is the configuration that it was started with; pending changes are the rest."""

    vmid: int
    node: str
    config: dict[str, Any]
    running: dict[str, Any] | None = None
    since: int = 0
    snapshots: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return str(self.vmid)

    @property
    def is_running(self) -> bool:
        return self.running is not None

    @property
    def is_template(self) -> bool:
        return bool(self.config.get("template"))

    @property
    def name(self) -> str:
        return str(self.config.get("name", f"VM {self.vmid}"))

    @property
    def cores(self) -> int:
        return _cores(self.config)

    @property
    def memory(self) -> int:
        return int(self.config.get("memory", 512)) * MIB

    def drives(self) -> dict[str, dict[str, str]]:
        """By slot; read-only, because the result is cached."""
        return self._drives

    @cached_property
    def _drives(self) -> dict[str, dict[str, str]]:
        return {k: parse_drive(v) for k, v in sorted(self.config.items()) if is_drive(k)}

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The status without values that change over time; read-only."""
        config, running = self.running or self.config, self.is_running
        order = parse(str(config.get("boot", "")), "legacy").get("order", "").split(";")
        boot = next((parse_drive(config[k]) for k in order if k in config and is_drive(k)), {})
        used = self.memory // 2 if running else 0
        data: dict[str, Any] = {
            "vmid": self.vmid,
            "name": self.name,
            "status": "running" if running else "stopped",
            "cpus": int(config.get("vcpus") or _cores(config)),
            "maxmem": self.memory,
            "mem": used,
            "memhost": used,
            "maxdisk": parse_size(boot["size"]) if "size" in boot else 0,
            **dict.fromkeys(("disk", "netin", "netout", "cpu", "uptime"), 0),
        }
        if running:
            data |= {"pid": 10_000 + self.vmid, **dict.fromkeys(PRESSURES, 0)}
        if self.is_template:
            data["template"] = 1
        if any(key.startswith("serial") for key in config):
            data["serial"] = 1
        return data | {key: self.config[key] for key in ("tags", "lock") if self.config.get(key)}

    def stored(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def volids(self) -> set[str]:
        """What its disks and those of its snapshots are named."""
        past = (Vm(self.vmid, self.node, config) for config in self.snapshots.values())
        return {drive["file"] for vm in (self, *past) for drive in vm.drives().values()}

    def with_config(self, config: dict[str, Any]) -> Vm:
        """Values that can change online take effect at once if the VM runs.

        A volume that a disk or a snapshot uses is not listed as unused.
        """
        used = replace(self, config=config).volids()
        config = {
            k: v for k, v in config.items() if not (k.startswith("unused") and str(v) in used)
        }
        if self.running is None:
            return replace(self, config=config)
        running = {key: value for key, value in self.running.items() if not is_online(key)}
        running |= {key: value for key, value in config.items() if is_online(key)}
        return replace(self, config=config, running=running)

    def taken(self, name: str) -> dict[str, Any]:
        """The configuration that a snapshot keeps."""
        if name not in self.snapshots:
            raise failed(f"snapshot '{name}' does not exist")
        return self.snapshots[name]

    def digest(self) -> str:
        text = json.dumps([self.config, *self.snapshots.items()], sort_keys=True)
        return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _cores(config: dict[str, Any]) -> int:
    return int(config.get("cores", 1)) * int(config.get("sockets", 1))


def find(pve: Hypervisor, node: str, vmid: int) -> Vm:
    vm = pve.vms.get(str(vmid))
    if vm is None or vm.node != node:
        raise missing_vm(node, vmid)
    return vm


def need_unlocked(pve: Hypervisor, vm: Vm) -> None:
    """Refuse if the VM has a lock, or a fault sets one."""
    fault = pve.faults.find("vm-locked", host=pve.name, node=vm.node, vmid=vm.vmid)
    lock = (fault.message or "backup") if fault else vm.config.get("lock")
    if lock:
        raise failed(f"VM is locked ({lock})")


def summary(vm: Vm, now: float) -> dict[str, Any]:
    if not vm.is_running:
        return dict(vm.facts)
    return {**vm.facts, "uptime": max(int(now) - vm.since, 1)}


def _listed(call: Call, vm: Vm) -> dict[str, Any]:
    """A host reports at most its own number of processors."""
    data = summary(vm, call.pve.clock.now())
    if not vm.config.get("vcpus"):
        data["cpus"] = min(data["cpus"], call.pve.nodes[vm.node].cores)
    return data


def _full(call: Call, vm: Vm) -> dict[str, Any]:
    """With the values that only QEMU knows."""
    data = _listed(call, vm)
    status = "paused" if call.pve.paused(vm.vmid) else data["status"]
    disks = {"diskread": 0, "diskwrite": 0} if vm.running and vm.drives() else {}
    return {**data, "qmpstatus": status, **disks}


@route("GET", "/nodes/{node}/qemu")
def list_vms(call: Call) -> list[dict[str, Any]]:
    show = _full if call.get("full") else _listed
    rows = [
        show(call, vm)
        for vm in call.pve.vms.values()
        if vm.node == call.node and call.may(f"/vms/{vm.vmid}", "VM.Audit")
    ]
    return call.pve.shuffled(rows)


@route("GET", "/nodes/{node}/qemu/{vmid}/config")
def read_config(call: Call) -> dict[str, Any]:
    if call.get("snapshot") and call.get("current"):
        problem = "cannot use 'snapshot' parameter with 'current'"
        raise invalid({"snapshot": problem, "current": problem})
    vm = find(call.pve, call.node, call.vmid)
    config = vm.running if call.get("current") and vm.running is not None else vm.config
    if call.get("snapshot"):
        config = vm.taken(call.params["snapshot"])
    hidden = {"cipassword": "**********"} if config.get("cipassword") else {}
    return {**config, **hidden, "digest": vm.digest()}


@route("GET", "/nodes/{node}/qemu/{vmid}/pending")
def read_pending(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    current = vm.running if vm.running is not None else vm.config
    rows: list[dict[str, Any]] = []
    for key in {*current, *vm.config}:
        row: dict[str, Any] = {"key": key}
        secret = "**********" if key == "cipassword" else ""
        if key in current:
            row["value"] = secret or current[key]
        if key not in vm.config:
            row["delete"] = 1
        elif vm.config[key] != current.get(key):
            row["pending"] = secret or vm.config[key]
        rows.append(row)
    return call.pve.shuffled([*sorted(rows, key=_key), {"key": "digest", "value": vm.digest()}])


def _key(row: dict[str, Any]) -> str:
    return str(row["key"])


@route("GET", "/nodes/{node}/qemu/{vmid}/status/current")
def read_status(call: Call) -> dict[str, Any]:
    vm = find(call.pve, call.node, call.vmid)
    data = _full(call, vm)
    data["ha"] = {"managed": int(f"vm:{vm.vmid}" in call.pve.ha)}
    vga = parse(str(vm.config["vga"]), "type") if vm.config.get("vga") else None
    if vga is not None:
        data["clipboard"] = vga.get("clipboard")
        if str(vga.get("type", "")).startswith(("virtio", "qxl")):
            data["spice"] = 1
    if parse(str(vm.config.get("agent", "0")), "enabled").get("enabled") in TRUE:
        data["agent"] = 1
    return data

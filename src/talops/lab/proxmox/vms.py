"""The record of a virtual machine, and reading it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.drives import is_cdrom, is_drive, parse_drive, parse_size
from talops.lab.proxmox.errors import failed, missing_vm
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.vmparams import is_online

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor

AUDIT = perm("/vms/{vmid}", "VM.Audit")
MIB = 1 << 20


@dataclass(frozen=True)
class Vm:
    """`running` is the configuration that it was started with; pending changes are the rest."""

    vmid: int
    node: str
    config: dict[str, Any]
    running: dict[str, Any] | None = None
    since: int = 0

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
        return int(self.config.get("cores", 1)) * int(self.config.get("sockets", 1))

    @property
    def memory(self) -> int:
        return int(self.config.get("memory", 512)) * MIB

    def drives(self) -> dict[str, dict[str, str]]:
        """By slot; to be read only, the parts are kept."""
        return self._drives

    @cached_property
    def _drives(self) -> dict[str, dict[str, str]]:
        return {k: parse_drive(k, v) for k, v in sorted(self.config.items()) if is_drive(k)}

    @cached_property
    def resource_json(self) -> str:
        """Its row among the cluster's resources, but for what changes by itself."""
        row = summary(self, 0)
        row |= {"id": f"qemu/{self.vmid}", "type": "qemu", "node": self.node}
        row |= {"maxcpu": row.pop("cpus"), "template": int(self.is_template)}
        for key in ("pid", "uptime"):
            row.pop(key, None)
        return json.dumps(row, separators=(",", ":"))

    def stored(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_config(self, config: dict[str, Any]) -> Vm:
        """What can change online is in force at once if the VM runs."""
        if self.running is None:
            return replace(self, config=config)
        running = {key: value for key, value in self.running.items() if not is_online(key)}
        running |= {key: value for key, value in config.items() if is_online(key)}
        return replace(self, config=config, running=running)

    def digest(self) -> str:
        text = json.dumps(self.config, sort_keys=True)
        return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def find(pve: Hypervisor, node: str, vmid: int) -> Vm:
    vm = pve.vms.get(str(vmid))
    if vm is None or vm.node != node:
        raise missing_vm(node, vmid)
    return vm


def need_unlocked(pve: Hypervisor, vm: Vm) -> None:
    """Refuse if the VM carries a lock, or a fault says that it does."""
    fault = pve.faults.find("vm-locked", host=pve.name, node=vm.node, vmid=vm.vmid)
    lock = (fault.message or "backup") if fault else vm.config.get("lock")
    if lock:
        raise failed(f"VM is locked ({lock})")


def summary(vm: Vm, now: float) -> dict[str, Any]:
    boot = next((d for d in vm.drives().values() if "size" in d and not is_cdrom(d)), None)
    data: dict[str, Any] = {
        "vmid": vm.vmid,
        "name": vm.name,
        "status": "running" if vm.is_running else "stopped",
        "cpus": vm.cores,
        "maxmem": vm.memory,
        "mem": vm.memory // 2 if vm.is_running else 0,
        "maxdisk": parse_size(boot["size"]) if boot else 0,
        "disk": 0,
        "diskread": 0,
        "diskwrite": 0,
        "netin": 0,
        "netout": 0,
        "cpu": 0,
        "uptime": max(int(now) - vm.since, 1) if vm.is_running else 0,
    }
    if vm.is_running:
        data["pid"] = 10_000 + vm.vmid
    if vm.is_template:
        data["template"] = 1
    for key in ("tags", "lock"):
        if vm.config.get(key):
            data[key] = vm.config[key]
    return data


@route("GET", "/nodes/{node}/qemu", "full:bool")
def list_vms(call: Call) -> list[dict[str, Any]]:
    now = call.pve.clock.now()
    return [
        summary(vm, now)
        for vm in call.pve.vms.values()
        if vm.node == call.node and call.may(f"/vms/{vm.vmid}", "VM.Audit")
    ]


@route("GET", "/nodes/{node}/qemu/{vmid}")
def index(call: Call) -> list[dict[str, str]]:
    find(call.pve, call.node, call.vmid)
    names = ("config", "pending", "status", "snapshot", "clone", "migrate", "resize", "template")
    return [{"subdir": name} for name in names]


@route("GET", "/nodes/{node}/qemu/{vmid}/config", "current:bool snapshot:str", AUDIT)
def read_config(call: Call) -> dict[str, Any]:
    vm = find(call.pve, call.node, call.vmid)
    config = vm.running if call.get("current") and vm.running is not None else vm.config
    return {**config, "digest": vm.digest()}


@route("GET", "/nodes/{node}/qemu/{vmid}/pending", "", AUDIT)
def read_pending(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    current = vm.running if vm.running is not None else vm.config
    rows: list[dict[str, Any]] = []
    for key in sorted({*current, *vm.config}):
        row: dict[str, Any] = {"key": key}
        if key in current:
            row["value"] = current[key]
        if key not in vm.config:
            row["delete"] = 1
        elif vm.config[key] != current.get(key):
            row["pending"] = vm.config[key]
        rows.append(row)
    return rows


@route("GET", "/nodes/{node}/qemu/{vmid}/status/current", "", AUDIT)
def read_status(call: Call) -> dict[str, Any]:
    vm = find(call.pve, call.node, call.vmid)
    data = summary(vm, call.pve.clock.now())
    managed = f"vm:{vm.vmid}" in call.pve.ha
    data |= {"qmpstatus": data["status"], "ha": {"managed": int(managed)}}
    if "agent" in vm.config:
        data["agent"] = int(str(vm.config["agent"]).startswith(("1", "enabled=1")))
    return data


@route("GET", "/nodes/{node}/qemu/{vmid}/snapshot", "", AUDIT)
def list_snapshots(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    return [
        {
            "name": "current",
            "description": "You are here!",
            "digest": vm.digest(),
            "running": 1 if vm.is_running else 0,
        }
    ]

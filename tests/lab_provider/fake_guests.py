"""The VMs of the fake Proxmox, and the tasks that work on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

GIB = 1 << 30
DRIVE = re.compile(r"(ide|sata|scsi|virtio|efidisk|tpmstate)\d+")
NUMBERS = (
    "cores",
    "sockets",
    "vcpus",
    "cpuunits",
    "onboot",
    "numa",
    "acpi",
    "tablet",
    "protection",
)


class RefusalError(Exception):
    def __init__(self, status: int, reason: str, errors: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.errors = status, reason, errors


@dataclass
class Task:
    exit: str = "OK"
    log: list[str] = field(default_factory=list)


@dataclass
class Guests:
    vms: dict[int, dict[str, Any]] = field(default_factory=dict)
    where: dict[int, str] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    agents: bool = True

    def task(self, node: str, kind: str, subject: object) -> str:
        number = len(self.tasks) + 1
        upid = f"UPID:{node}:{number:08X}:{number:08X}:{number:08X}:{kind}:{subject}:lab@pve!test:"
        self.tasks.setdefault(upid, Task())
        return upid

    def next_id(self, wanted: str | None) -> str:
        if wanted is not None and int(wanted) in self.vms:
            text = f"VM {wanted} already exists"
            raise RefusalError(400, "Parameter verification failed.", {"vmid": text})
        if wanted is not None:
            return wanted
        return str(next(i for i in range(100, 1000) if i not in self.vms))

    def resource(self, vmid: int) -> dict[str, Any]:
        config = self.vms[vmid]
        return {
            "type": "qemu",
            "id": f"qemu/{vmid}",
            "vmid": vmid,
            "node": self.where[vmid],
            "name": config.get("name", ""),
            "status": "running" if vmid in self.running else "stopped",
            "template": int(config.get("template", 0)),
            "tags": config.get("tags", ""),
        }

    def node_qemu(self, method: str, node: str, path: list[str], form: Any) -> Any:
        path = [part for part in path if part]
        if not path:
            return self._list(node) if method == "GET" else self._create(node, form)
        vmid = int(path[0])
        if self.where.get(vmid) != node:
            text = f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"
            raise RefusalError(500, text)
        if method == "DELETE":
            self._destroy(vmid)
            return self.task(node, "qmdestroy", vmid)
        return self._vm(method, node, vmid, path[1:], form)

    def _list(self, node: str) -> Any:
        found = [self.resource(v) for v in sorted(self.vms) if self.where[v] == node]
        for item in found:
            if not item["template"]:
                del item["template"]
        return found

    def _create(self, node: str, form: Any) -> str:
        vmid = int(form.pop("vmid"))
        if vmid in self.vms:
            raise RefusalError(500, f"unable to create VM {vmid}: VM {vmid} already exists on node")
        pool = form.pop("pool", None)
        self.vms[vmid], self.where[vmid] = {"digest": "0", "smbios1": "uuid=1"}, node
        self._apply(vmid, form)
        if pool:
            self.pools[pool]["members"].add(vmid)
        return self.task(node, "qmcreate", vmid)

    def _destroy(self, vmid: int) -> None:
        del self.vms[vmid], self.where[vmid]
        for pool in self.pools.values():
            pool["members"].discard(vmid)

    def _vm(  # noqa: C901  (one branch per call)
        self, method: str, node: str, vmid: int, path: list[str], form: Any
    ) -> Any:
        config, what = self.vms[vmid], "/".join(path)
        if what == "config":
            return {**config} if method == "GET" else self._apply(vmid, form)
        if what == "status/current":
            return {"status": "running" if vmid in self.running else "stopped", "vmid": vmid}
        if path[0] == "agent":
            return self._agent(vmid, path[1])
        if what == "status/start":
            self.running.add(vmid)
        elif what in ("status/stop", "status/shutdown"):
            self.running.discard(vmid)
        elif what == "template":
            config["template"] = 1
        elif what == "resize":
            drive = config[form["disk"]].split(",")
            kept = [part for part in drive if not part.startswith("size=")]
            config[form["disk"]] = ",".join([*kept, f"size={int(form['size']) // GIB}G"])
        elif what == "clone":
            self._clone(node, vmid, form)
        elif what == "migrate":
            self.where[vmid] = form["target"]
        elif what == "move_disk":
            config[form["disk"]] = form["storage"] + ":" + config[form["disk"]].partition(":")[2]
        elif what == "cloudinit":
            return None
        else:
            raise RefusalError(501, f"not implemented: {what}")
        return self.task(node, f"qm{path[-1]}", vmid)

    def _agent(self, vmid: int, question: str) -> Any:
        if vmid not in self.running or not self.agents:
            raise RefusalError(500, "QEMU guest agent is not running")
        if question == "ping":
            return {"result": {}}
        address = {"ip-address": f"10.0.0.{vmid % 256}", "ip-address-type": "ipv4", "prefix": 24}
        mac = self.vms[vmid]["net0"].split(",")[0].partition("=")[2]
        nic = {"name": "eth0", "hardware-address": mac.lower(), "ip-addresses": [address]}
        local = {"ip-address": "127.0.0.1", "ip-address-type": "ipv4", "prefix": 8}
        none = "00:00:00:00:00:00"
        loopback = {"name": "lo", "hardware-address": none, "ip-addresses": [local]}
        return {"result": [loopback, nic]}

    def _clone(self, node: str, source: int, form: Any) -> None:
        vmid = int(form["newid"])
        self.vms[vmid] = {
            k: v.replace(f"-{source}-", f"-{vmid}-") if isinstance(v, str) else v
            for k, v in self.vms[source].items()
            if k != "template"
        }
        self.where[vmid] = form.get("target", node)
        self.vms[vmid] |= {k: form[k] for k in ("name", "description") if k in form}

    def _apply(self, vmid: int, form: Any) -> None:
        config = self.vms[vmid]
        for key in form.get("delete", "").split(","):
            config.pop(key, None)
        for key, value in form.items():
            if key == "delete" or (key == "template" and value == "0"):
                continue
            if DRIVE.fullmatch(key):
                config[key] = self._drive(vmid, key, value)
            elif re.fullmatch(r"net\d+", key):
                config[key] = _nic(vmid, value)
            elif value == "":
                config.pop(key, None)
            else:
                config[key] = int(value) if key in NUMBERS else value

    def _drive(self, vmid: int, key: str, text: str) -> str:
        parts = [part.partition("=") for part in text.split(",") if part]
        told = {name: value for name, _, value in parts}
        volume = told.pop("file")
        told.pop("format", None), told.pop("size", None)
        source = told.pop("import-from", None)
        store, _, rest = volume.partition(":")
        if rest == "cloudinit":
            return f"{store}:vm-{vmid}-cloudinit,media=cdrom"
        if rest.isdigit():
            number = sum(f"vm-{vmid}-disk-" in str(v) for v in self.vms[vmid].values())
            volume = f"{store}:vm-{vmid}-disk-{number}"
            size = "2G" if source else f"{rest}G"
            told["size"] = {"efidisk0": "4M", "tpmstate0": "4M"}.get(key, size)
        elif told.get("media") != "cdrom" and key in self.vms[vmid]:
            before = self.vms[vmid][key].split(",")
            told |= dict(p.split("=", 1) for p in before if p.startswith("size="))
        return ",".join([volume, *(f"{k}={told[k]}" for k in sorted(told))])


def _nic(vmid: int, text: str) -> str:
    told = dict(part.split("=", 1) for part in text.split(","))
    model = told.pop("model")
    mac = told.pop("macaddr", f"BC:24:11:00:00:{vmid % 256:02X}")
    return ",".join([f"{model}={mac}", *(f"{k}={told[k]}" for k in sorted(told))])

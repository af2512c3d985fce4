"""The rows of pvestatd: as old as its last cycle.

Every ten seconds, scaled by `pace` (0 = always current), it records the status of each VM, node
and storage. A VM that it has not seen yet has no name, no template flag and the status `unknown`;
with the fault `no-pvestatd` all are so after five minutes, scaled the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.vm.records import Vm, summary

if TYPE_CHECKING:
    from talops.lab.proxmox.hypervisor import Hypervisor

ROUND, FORGOTTEN = 10.0, 300.0
HEAD = ("uptime", "name", "status", "template")
STATS = ("maxcpu", "cpu", "maxmem", "mem", "maxdisk", "disk", "netin", "netout")
TAIL = ("diskread", "diskwrite", "memhost")


@dataclass
class Pvestatd:
    """Its last cycle: each VM's record at that time, the time, and the cycle's number."""

    seen: dict[str, Vm] = field(default_factory=dict)
    at: float = -1.0
    round: int = 0
    _of: int = -1

    def run(self, pve: Hypervisor) -> None:
        """Run the cycle that is due, unless a fault stopped the daemon."""
        now, rest = pve.uptime(), ROUND * pve.pace
        if pve.faults.standing("no-pvestatd", host=pve.name):
            if self.seen and now - self.at >= FORGOTTEN * pve.pace:
                self._note({}, -1)
        elif self.at < 0 or now - self.at >= rest:
            self.at = now
            if self._of != pve.store.generation:
                self._note(dict(pve.vms.items()), pve.store.generation)

    def _note(self, seen: dict[str, Vm], generation: int) -> None:
        self.seen, self._of = seen, generation
        self.round += 1


def vm_row(pve: Hypervisor, vm: Vm) -> dict[str, Any]:
    """One VM; its node, lock and tags are always current, the rest comes from pvestatd."""
    row: dict[str, Any] = {
        "id": f"qemu/{vm.vmid}",
        "vmid": vm.vmid,
        "node": vm.node,
        "type": "qemu",
        "status": "unknown",
    }
    seen = pve.stats.seen.get(vm.key)
    if seen is not None and not pve.offline(vm.node):
        known = summary(seen, pve.clock.now())
        known |= {"maxcpu": known["cpus"], "template": int(seen.is_template)}
        known |= {"diskread": 0, "diskwrite": 0}
        row |= {key: known[key] for key in (*HEAD, *STATS, *TAIL)}
    row |= {key: vm.config[key] for key in ("lock", "tags") if vm.config.get(key)}
    return row


def storage_row(pve: Hypervisor, name: str, node: str) -> dict[str, Any]:
    status = pve.storages.status(name, node)
    row = {
        "id": f"storage/{node}/{name}",
        "type": "storage",
        "node": node,
        "storage": name,
        "plugintype": status["type"],
        "content": pve.mixed(status["content"]),
        "shared": status["shared"],
        "status": "unknown",
    }
    if status["active"] and not pve.offline(node):
        row |= {"disk": status["used"], "maxdisk": status["total"], "status": "available"}
    return row


def node_row(pve: Hypervisor, name: str, *, audit: bool = True) -> dict[str, Any]:
    node = pve.nodes[name]
    online = not pve.offline(name)
    row: dict[str, Any] = {
        "id": f"node/{name}",
        "type": "node",
        "node": name,
        "status": "online" if online else "offline",
        "level": "",
    }
    if not audit:
        return row
    row |= {"maxcpu": node.cores, "maxmem": node.memory_gib << 30, "maxdisk": 100 << 30}
    if online:
        used = sum(vm.memory for vm in pve.vms.values() if vm.node == name and vm.is_running)
        row |= {"cpu": 0.01, "mem": used + (2 << 30), "disk": 10 << 30, "uptime": 86_400}
    return row

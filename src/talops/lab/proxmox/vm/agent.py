"""The guest agent: it answers if the booted image contains it, as on a real host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.params import TRUE
from talops.lab.proxmox.vm.drives import parse
from talops.lab.proxmox.vm.power import describe
from talops.lab.proxmox.vm.records import Vm, find

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.machine import Machine
    from talops.lab.proxmox.call import Call

EXTENSION = "siderolabs/qemu-guest-agent"
HEAD = 64 << 10


def _answering(call: Call) -> tuple[Vm, Machine]:
    vm = find(call.pve, call.node, call.vmid)
    if "agent" not in vm.config:
        raise failed("No QEMU guest agent configured")
    if not vm.is_running:
        raise failed(f"VM {vm.vmid} is not running")
    machine = describe(call.pve, vm)
    channel = parse(str(vm.config["agent"]), "enabled").get("enabled") in TRUE
    booted = [disk.image for disk in machine.disks if disk.image] + [machine.cdrom]
    if not channel or not any(EXTENSION in _extensions(path) for path in booted if path):
        raise failed("QEMU guest agent is not running")
    return vm, machine


def _extensions(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(HEAD).split(b"\n", 1)[0])
    except (OSError, ValueError):
        return []
    return list(header.get("extensions", [])) if isinstance(header, dict) else []


@route("POST", "/nodes/{node}/qemu/{vmid}/agent/ping")
def ping(call: Call) -> dict[str, Any]:
    _answering(call)
    return {"result": {}}


@route("GET", "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces")
def interfaces(call: Call) -> dict[str, Any]:
    _, machine = _answering(call)
    rows = [_interface("lo", "00:00:00:00:00:00", ["127.0.0.1/8"])]
    for number, nic in enumerate(machine.nics):
        addresses = [_global_address(nic.mac)]
        if number == 0 and machine.network:
            addresses.insert(0, machine.network.address)
        rows.append(_interface(f"eth{number}", nic.mac.lower(), addresses))
    return {"result": rows}


def _global_address(mac: str) -> str:
    """Clients ignore loopback addresses, and a lab has no others, so add another one."""
    tail = mac.lower().replace(":", "")
    return f"fd7a:{tail[0:4]}:{tail[4:8]}:{tail[8:12]}::1/64"


def _interface(name: str, mac: str, addresses: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "hardware-address": mac,
        "ip-addresses": [
            {
                "ip-address": address.split("/")[0],
                "ip-address-type": "ipv6" if ":" in address else "ipv4",
                "prefix": int(address.split("/")[1]),
            }
            for address in addresses
        ],
    }

"""The cloud-init drive: when it is written, and its content."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.routing import route
from talops.lab.proxmox.vm.drives import format_drive, format_size, is_cloudinit, parse
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor

OPTIONS = frozenset(
    {
        "cicustom",
        "cipassword",
        "citype",
        "ciuser",
        "ciupgrade",
        "nameserver",
        "searchdomain",
        "sshkeys",
    }
)


def regenerated(pve: Hypervisor, vm: Vm) -> Vm:
    """The VM with its drive rewritten; from then on its size is in the configuration."""
    for key, drive in vm.drives().items():
        volume = pve.storages.find(drive["file"], vm.node)
        if is_cloudinit(drive) and volume and "size" not in drive:
            text = format_drive({**drive, "size": format_size(volume.size)})
            return vm.with_config({**vm.config, key: text})
    return vm


@route("PUT", "/nodes/{node}/qemu/{vmid}/cloudinit")
async def regenerate(call: Call) -> None:
    async with call.pve.locks.config(call.vmid):
        vm = find(call.pve, call.node, call.vmid)
        need_unlocked(call.pve, vm)
        call.pve.vms.put(vm.key, regenerated(call.pve, vm))


@route("GET", "/nodes/{node}/qemu/{vmid}/cloudinit")
def read_cloudinit(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    hidden = {"cipassword": "**********"}
    keys = [key for key in sorted(vm.config) if key in OPTIONS]
    return [{"key": key, "value": hidden.get(key, vm.config[key])} for key in keys]


@route("GET", "/nodes/{node}/qemu/{vmid}/cloudinit/dump")
def dump(call: Call) -> str:
    vm = find(call.pve, call.node, call.vmid)
    kind = call.params["type"]
    if kind == "user":
        return _user(vm)
    if kind == "meta":
        return f"instance-id: {vm.digest()}\n"
    return _network(vm)


def _user(vm: Vm) -> str:
    lines = ["#cloud-config", f"hostname: {vm.name}", "manage_etc_hosts: true", f"fqdn: {vm.name}"]
    if vm.config.get("ciuser"):
        lines.append(f"user: {vm.config['ciuser']}")
    lines += ["chpasswd:", "  expire: False", "users:", "  - default", "package_upgrade: true"]
    return "\n".join(lines) + "\n"


def _network(vm: Vm) -> str:
    """Version 1 of cloud-init's network configuration, as Talos reads it too."""
    lines = ["version: 1", "config:"]
    for number in range(32):
        if f"net{number}" not in vm.config:
            continue
        mac = next(iter(parse(str(vm.config[f"net{number}"]), "model").values())).lower()
        lines += ["    - type: physical", f"      name: eth{number}", f"      mac_address: '{mac}'"]
        given = parse(str(vm.config.get(f"ipconfig{number}", "")), "ip")
        lines += ["      subnets:", *_subnets(given)]
    servers = str(vm.config.get("nameserver", "")).split()
    lines += ["    - type: nameserver", "      address:", *(f"      - '{s}'" for s in servers)]
    if vm.config.get("searchdomain"):
        lines += ["      search:", f"      - '{vm.config['searchdomain']}'"]
    return "\n".join(lines) + "\n"


def _subnets(given: dict[str, str]) -> list[str]:
    address = given.get("ip", "")
    if not address:
        return []
    if address == "dhcp":
        return ["      - type: dhcp4"]
    found = ipaddress.ip_interface(address)
    lines = [
        "      - type: static",
        f"        address: '{found.ip}'",
        f"        netmask: '{found.netmask}'",
    ]
    return [*lines, f"        gateway: '{given['gw']}'"] if "gw" in given else lines


def touched(vm: Vm, changes: dict[str, Any]) -> bool:
    """Whether a change of a stopped VM rewrites its drive: any change of a value on it."""
    told = OPTIONS | {"name"}
    return not vm.is_running and any(
        key in told or key.startswith(("ipconfig", "net")) for key in changes
    )

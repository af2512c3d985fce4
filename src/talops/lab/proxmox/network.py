"""Interfaces of a node: changes are written down first and come into force with a reload."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.volaccess import sees_bridge

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.store import Document
    from talops.lab.proxmox.tasks import Task

TYPES = "bridge|bond|eth|alias|vlan|fabric|OVSBridge|OVSBond|OVSPort|OVSIntPort|vnet|unknown"
OPTIONS = f"""
type!={TYPES} address:str address6:str autostart:bool bond-primary:str bond_mode:str
bond_xmit_hash_policy:str bridge_ports:str bridge_vids:str bridge_vlan_aware:bool cidr:str cidr6:str
comments:str comments6:str gateway:str gateway6:str mtu:int:1280..65520 netmask:str netmask6:int
ovs_bonds:str ovs_bridge:str ovs_options:str ovs_ports:str ovs_tag:int slaves:str
vlan-id:int:1..4094 vlan-raw-device:str
"""
BRIDGES = ("bridge", "OVSBridge")
MODIFY = perm("/nodes/{node}", "Sys.Modify")


def interfaces(pve: Hypervisor, node: str) -> dict[str, Document]:
    """As they will be after a reload."""
    current = _of(pve.network.items(), node)
    if f"{node}" not in pve.pending_network:
        return current
    pending: dict[str, Document] = pve.pending_network[node]["interfaces"]
    return pending


def _of(items: list[tuple[str, Document]], node: str) -> dict[str, Document]:
    prefix = f"{node}/"
    return {key.removeprefix(prefix): entry for key, entry in items if key.startswith(prefix)}


def _write(call: Call, changed: dict[str, Document]) -> None:
    call.pve.pending_network.put(call.node, {"interfaces": changed})


@route("GET", "/nodes/{node}/network", "type:str")
def list_network(call: Call) -> list[dict[str, Any]]:
    wanted = call.get("type")
    rows = []
    for number, (name, entry) in enumerate(interfaces(call.pve, call.node).items()):
        kinds = dict.fromkeys(("any_bridge", "any_local_bridge"), BRIDGES)
        if wanted and entry["type"] not in kinds.get(wanted, (wanted,)) and wanted != "include_sdn":
            continue
        if entry["type"] in BRIDGES and not sees_bridge(call, name, "SDN.Audit", "SDN.Use"):
            continue
        rows.append({**_shown(name, entry), "priority": number + 3})
    return rows


@route("GET", "/nodes/{node}/network/{iface}", "", perm("/nodes/{node}", "Sys.Audit"))
def read_network(call: Call) -> dict[str, Any]:
    return {**_shown(call.params["iface"], _entry(call)), "priority": 3}


def _entry(call: Call) -> Document:
    entry = interfaces(call.pve, call.node).get(call.params["iface"])
    if entry is None:
        raise invalid({"iface": "interface does not exist"})
    return entry


def _shown(name: str, entry: Document) -> dict[str, Any]:
    """Numbers that Proxmox reads back from a text file come as text."""
    data = {key: value for key, value in entry.items() if value is not None}
    for key in ("mtu", "vlan-id", "netmask", "netmask6"):
        if key in data:
            data[key] = str(data[key])
    if entry["type"] == "bridge":
        data |= {"bridge_fd": "0", "bridge_stp": "off"}
        data.setdefault("bridge_ports", "")
    match = re.fullmatch(r"(.+)\.(\d+)", name)
    if entry["type"] == "vlan" and match:
        data |= {"vlan-raw-device": match[1], "vlan-id": match[2]}
    return {
        "iface": name,
        "method": "static" if "cidr" in data else "manual",
        "method6": "manual",
        "families": ["inet"],
        "exists": 1 if entry.get("active") else None,
        **data,
    }


@route("POST", "/nodes/{node}/network", f"iface!:str {OPTIONS}", MODIFY)
def create_interface(call: Call) -> None:
    name = call.params["iface"]
    known = interfaces(call.pve, call.node)
    if name in known:
        raise invalid({"iface": "interface already exists"})
    entry = _checked(call, known)
    _write(call, {**known, name: entry})


@route("PUT", "/nodes/{node}/network/{iface}", f"delete:str {OPTIONS}", MODIFY)
def change_interface(call: Call) -> None:
    name = call.params["iface"]
    entry = dict(_entry(call))
    for key in str(call.get("delete", "")).split(","):
        for gone in _DELETES.get(key, (key,)):
            entry.pop(gone, None)
    changed = {**entry, **_checked(call, interfaces(call.pve, call.node))}
    _write(call, {**interfaces(call.pve, call.node), name: changed})


_DELETES = {"cidr": ("cidr", "address", "netmask"), "cidr6": ("cidr6", "address6", "netmask6")}


def _checked(call: Call, known: dict[str, Document]) -> Document:
    skip = {"node", "iface", "delete"}
    entry: Document = {key: value for key, value in call.params.items() if key not in skip}
    for key, version in (("cidr", 4), ("cidr6", 6)):
        if entry.get(key):
            entry |= _address(key, entry[key], version)
    for port in str(entry.get("bridge_ports", "")).split():
        if port not in known:
            raise invalid({"bridge_ports": f"interface '{port}' does not exist"})
    if entry.get("comments"):
        entry["comments"] = entry["comments"].rstrip("\n") + "\n"
    return entry


def _address(key: str, value: str, version: int) -> dict[str, Any]:
    try:
        interface = ipaddress.ip_interface(value)
    except ValueError:
        interface = None
    if interface is None or interface.version != version:
        raise invalid(
            {key: f"invalid format - value does not look like a valid CIDRv{version} network"}
        )
    suffix = "6" if version == 6 else ""  # noqa: PLR2004
    return {f"address{suffix}": str(interface.ip), f"netmask{suffix}": interface.network.prefixlen}


@route("DELETE", "/nodes/{node}/network/{iface}", "", MODIFY)
def delete_interface(call: Call) -> None:
    _entry(call)
    known = interfaces(call.pve, call.node)
    _write(call, {name: entry for name, entry in known.items() if name != call.params["iface"]})


@route("PUT", "/nodes/{node}/network", "regenerate-frr:bool", MODIFY)
def reload(call: Call) -> str:
    async def work(task: Task) -> None:
        await task.step("reload")
        if call.node not in call.pve.pending_network:
            return
        _apply(call.pve, call.node, task)

    return call.start("srvreload", "networking", work)


def _apply(pve: Hypervisor, node: str, task: Task) -> None:
    wanted = interfaces(pve, node)
    for name in set(_of(pve.network.items(), node)) - set(wanted):
        pve.network.drop(f"{node}/{name}")
    for name, entry in wanted.items():
        pve.network.put(f"{node}/{name}", {**entry, "active": 1})
        task.log(f"{name}: up")
    pve.pending_network.drop(node)


@route("DELETE", "/nodes/{node}/network", "", MODIFY)
def revert(call: Call) -> None:
    call.pve.pending_network.drop(call.node)

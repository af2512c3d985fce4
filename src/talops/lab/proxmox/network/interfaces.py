"""Interfaces of a node: changes are stored first and take effect with a reload."""

from __future__ import annotations

import difflib
import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.call import Answer
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.network.file import PORTS, VLAN_NAME, check_file, ports
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.access import sees_bridge

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.store import Document
    from talops.lab.proxmox.tasks import Task

BRIDGES = ("bridge", "OVSBridge")
# The order of Proxmox' interfaces file, which determines their numbers.
ORDER = {"loopback": 1, "eth": 2, "bond": 4, "bridge": 5, "OVSBridge": 5, "vlan": 6}
GONE = {"cidr": ("cidr", "address", "netmask"), "cidr6": ("cidr6", "address6", "netmask6")}
IPV6 = 6


def interfaces(pve: Hypervisor, node: str) -> dict[str, Document]:
    """Their state after a reload."""
    if node not in pve.pending_network:
        return _of(pve.network.items(), node)
    pending: dict[str, Document] = pve.pending_network[node]["interfaces"]
    return pending


def _of(items: list[tuple[str, Document]], node: str) -> dict[str, Document]:
    prefix = f"{node}/"
    return {key.removeprefix(prefix): entry for key, entry in items if key.startswith(prefix)}


def _write(call: Call, changed: dict[str, Document]) -> None:
    call.pve.pending_network.put(call.node, {"interfaces": changed})


@route("GET", "/nodes/{node}/network")
def list_network(call: Call) -> Answer:
    wanted = call.get("type")
    kinds = dict.fromkeys(("any_bridge", "any_local_bridge"), BRIDGES)
    rows = []
    for name, entry in interfaces(call.pve, call.node).items():
        if wanted and entry["type"] not in kinds.get(wanted, (wanted,)) and wanted != "include_sdn":
            continue
        hidden = entry["type"] in BRIDGES and not call.is_root
        if hidden and not sees_bridge(call, name, "SDN.Audit", "SDN.Use"):
            continue
        rows.append({"iface": name, **_shown(call, name, entry)})
    return Answer(call.pve.shuffled(rows), _pending(call))


def _pending(call: Call) -> dict[str, str]:
    """What a reload would change, as a diff of two files."""
    if call.node not in call.pve.pending_network:
        return {}
    before = _lines(_of(call.pve.network.items(), call.node))
    after = _lines(interfaces(call.pve, call.node))
    files = ("/etc/network/interfaces", "/etc/network/interfaces.new")
    text = "".join(difflib.unified_diff(before, after, *files))
    return {"changes": text} if text else {}


def _lines(entries: dict[str, Document]) -> list[str]:
    return [
        f"{name} {key} {value}\n"
        for name, entry in sorted(entries.items())
        for key, value in sorted(entry.items())
        if key != "active"
    ]


@route("GET", "/nodes/{node}/network/{iface}")
def read_network(call: Call) -> dict[str, Any]:
    return _shown(call, call.params["iface"], _entry(call))


def _entry(call: Call) -> Document:
    entry = interfaces(call.pve, call.node).get(call.params["iface"])
    if entry is None:
        raise invalid({"iface": "interface does not exist"})
    return entry


def _shown(call: Call, name: str, entry: Document) -> dict[str, Any]:
    """Proxmox reads numbers back from a text file, so they are strings."""
    data = {key: value for key, value in entry.items() if value is not None}
    for key in ("mtu", "vlan-id", "netmask", "netmask6"):
        if key in data:
            data[key] = str(data[key])
    if entry["type"] == "bridge":
        data |= {"bridge_fd": "0", "bridge_stp": "off"}
        data.setdefault("bridge_ports", "")
        if data.get("bridge_vlan_aware"):
            data.setdefault("bridge_vids", "2-4094")
    match = VLAN_NAME.fullmatch(name)
    if entry["type"] == "vlan" and match:
        data |= {"vlan-raw-device": match[1], "vlan-id": match[2]}
    return {
        "method": "static" if "cidr" in data else "manual",
        "method6": "static" if "cidr6" in data else "manual",
        "families": [
            *(["inet"] if "cidr" in data or "cidr6" not in data else []),
            *(["inet6"] if "cidr6" in data else []),
        ],
        "priority": _priority(call, name),
        **({"exists": 1} if entry["type"] == "eth" else {}),
        **data,
    }


def _priority(call: Call, name: str) -> int:
    known = interfaces(call.pve, call.node)
    ordered = sorted(known, key=lambda iface: (ORDER.get(known[iface]["type"], 9), iface))
    return ordered.index(name) + 3


@route("POST", "/nodes/{node}/network")
def create_interface(call: Call) -> None:
    name = call.params["iface"]
    known = interfaces(call.pve, call.node)
    if name in known:
        raise invalid({"iface": "interface already exists"})
    entry = _checked(call, name, known)
    changed = {**known, name: entry}
    check_file(changed)
    _write(call, changed)


@route("PUT", "/nodes/{node}/network/{iface}")
def change_interface(call: Call) -> None:
    name = call.params["iface"]
    entry = dict(_entry(call))
    known = interfaces(call.pve, call.node)
    for key in split_list(str(call.get("delete", ""))):
        for gone in GONE.get(key, (key,)):
            entry.pop(gone, None)
    new = _checked(call, name, known)
    for suffix in ("", "6"):
        # Each change sets the address method of an interface again.
        if f"address{suffix}" not in new:
            for key in (f"address{suffix}", f"netmask{suffix}", f"cidr{suffix}"):
                entry.pop(key, None)
    changed = {**known, name: {**entry, **new}}
    check_file(changed)
    _write(call, changed)


def _checked(call: Call, name: str, known: dict[str, Document]) -> Document:
    skip = {"node", "iface", "delete"}
    entry: Document = {key: value for key, value in call.params.items() if key not in skip}
    for key, label in (("gateway", "Default gateway"), ("gateway6", "Default ipv6 gateway")):
        other = next((n for n, e in known.items() if n != name and e.get(key)), None)
        if entry.get(key) and other:
            raise invalid({key: f"{label} already exists on interface '{other}'."})
    _check_ports(name, entry, known)
    if entry["type"].startswith("OVS"):
        raise failed("Open VSwitch is not installed (need package 'openvswitch-switch')")
    entry |= _address(entry, "", 4)
    entry |= _address(entry, "6", IPV6)
    if entry.get("bridge_vids"):
        entry["bridge_vids"] = " ".join(split_list(entry["bridge_vids"]))
    if entry.get("comments"):
        entry["comments"] = entry["comments"].rstrip("\n") + "\n"
    return entry


def _check_ports(name: str, entry: Document, known: dict[str, Document]) -> None:
    wanted = set(ports(entry))
    key = next((key for key in PORTS if entry.get(key)), "")
    for other, held in known.items():
        taken = wanted & set(ports(held)) if other != name else None
        if taken:
            raise invalid({key: f"{min(taken)} is already used on interface '{other}'."})


def _address(entry: Document, suffix: str, version: int) -> dict[str, Any]:
    """Address and mask, from a CIDR or given one by one; both forms are kept."""
    cidr, address, mask = (entry.get(f"{key}{suffix}") for key in ("cidr", "address", "netmask"))
    for key, value in (("address", address), ("netmask", mask)):
        if cidr and value:
            raise invalid({f"{key}{suffix}": f"{key}{suffix} conflicts with cidr{suffix}"})
    if not cidr and not address:
        return {}
    found = ipaddress.ip_interface(cidr or f"{address}/{mask}")
    if version == IPV6 and (found.ip.is_multicast or found.ip.is_loopback):
        kind = "MULTICAST" if found.ip.is_multicast else "LOOPBACK"
        problem = f"{found.ip} with type '{kind}', cannot be used as host IPv6 address."
        raise invalid({"address": problem})
    length = found.network.prefixlen
    return {
        f"address{suffix}": str(found.ip),
        f"netmask{suffix}": length,
        f"cidr{suffix}": f"{found.ip}/{length}",
    }


@route("DELETE", "/nodes/{node}/network/{iface}")
def delete_interface(call: Call) -> None:
    _entry(call)
    known = interfaces(call.pve, call.node)
    changed = {k: v for k, v in known.items() if k != call.params["iface"]}
    check_file(changed)
    _write(call, changed)


@route("PUT", "/nodes/{node}/network")
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


@route("DELETE", "/nodes/{node}/network")
def revert(call: Call) -> None:
    call.pve.pending_network.drop(call.node)

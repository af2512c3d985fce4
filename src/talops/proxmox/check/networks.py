"""Bridges that VMs attach to, and the VLAN tags that they pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.proxmox.check.problem import problem, unread
from talops.proxmox.facts import Unread
from talops.proxmox.needs import LOCAL_ZONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Interface
    from talops.proxmox.wanted import Wanted

_VLANS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
BRIDGES = frozenset({"bridge", "OVSBridge", "vnet"})


def networks(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.interfaces, Unread):
        yield unread("the bridges", facts.interfaces.reason, facts.interfaces.hint)
        return
    online = set() if isinstance(facts.hosts, Unread) else {h.name for h in facts.hosts if h.online}
    known = {(i.host, i.name): i for i in facts.interfaces if i.type in BRIDGES}
    for host, name, tag in sorted({(vm.host, vm.bridge, vm.vlan or 0) for vm in wanted.vms}):
        if host not in online or (host, name) in wanted.managed.bridges:
            continue  # reported elsewhere, or created by layer 01
        found = known.get((host, name))
        if found is None:
            yield _absent(facts, host, name, [i.name for h, i in _of(known, host)])
        else:
            yield from _usable(found, tag)


def _of(known: dict[tuple[str, str], Interface], host: str) -> list[tuple[str, Interface]]:
    return [(where, interface) for (where, _), interface in known.items() if where == host]


def _absent(facts: Facts, host: str, name: str, there: list[str]) -> HostProblem:
    if not _shown(facts, name):
        return problem(
            "bridge",
            f"host {host} shows no bridge {name}: {facts.who} may not see it, if it exists",
            f"grant SDN.Use on {LOCAL_ZONE}/{name} as named above, then check again",
            host,
        )
    listed = f"there are: {', '.join(sorted(there))}" if there else "it has none"
    return problem(
        "bridge",
        f"host {host} has no bridge {name}; {listed}",
        "correct proxmox_vm_advanced.network_bridge, or list the bridge under hypervisors.nodes",
        host,
    )


def _shown(facts: Facts, name: str) -> bool:
    """Proxmox lists a bridge only for users with a privilege on it or on one of its tags."""
    held = {} if isinstance(facts.permissions, Unread) else facts.permissions
    path = f"{LOCAL_ZONE}/{name}"
    return any(
        {"SDN.Use", "SDN.Audit"} & set(privileges)
        for each, privileges in held.items()
        if each == path or each.startswith(f"{path}/")
    )


def _usable(bridge: Interface, tag: int) -> Iterator[HostProblem]:
    if not bridge.active:
        yield problem(
            "bridge",
            f"bridge {bridge.name} of {bridge.host} is not up",
            "apply the network configuration on the host: ifreload -a",
            bridge.host,
        )
    if not tag:
        return
    aware = f"in /etc/network/interfaces of {bridge.host} give {bridge.name}"
    if not bridge.vlan_aware:
        yield problem(
            "vlan",
            f"bridge {bridge.name} of {bridge.host} is not VLAN-aware, and the VMs use tag {tag}",
            f"{aware}: bridge-vlan-aware yes, bridge-vids 2-4094; then ifreload -a",
            bridge.host,
        )
    elif not passes(bridge.vlans, tag):
        yield problem(
            "vlan",
            f"bridge {bridge.name} of {bridge.host} passes VLANs {bridge.vlans}, not {tag}",
            f"{aware}: bridge-vids {bridge.vlans} {tag}; then ifreload -a",
            bridge.host,
        )


def passes(vlans: str, tag: int) -> bool:
    """`2-100 200` or `2-100,200`; empty means all."""
    parts = [part for part in re.split(r"[\s,;]+", vlans) if part]
    if not parts:
        return True
    ranges = [found for part in parts if (found := _VLANS.fullmatch(part))]
    return any(int(found[1]) <= tag <= int(found[2] or found[1]) for found in ranges)

"""Memory and storage of each host: used, promised, and room for the failure of one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.web.documents import VERSION
from talops.web.documents.ages import age_of, stamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from talops.app.world.model import RunningHost, World
    from talops.inventory.model import Cluster
    from talops.web.watching.panel import Panel

MIB, GIB = 2**20, 2**30


def capacity(cluster: Cluster, panel: Panel, now: datetime) -> dict[str, Any]:
    world: World | None = panel.value
    promised = _promised(cluster)
    hosts = world.hosts if world else {}
    names = cluster.proxmox.hosts if cluster.proxmox else ()
    return {
        "version": VERSION,
        "cluster": cluster.name,
        "hosts": [_host(name, hosts, promised) for name in names],
        "storages": _storages(cluster, hosts),
        "ages": [age_of(panel, now)],
        "time": stamp(now),
    }


def _promised(cluster: Cluster) -> dict[str, list[tuple[str, int]]]:
    """Host → its VMs of this cluster with their memory in bytes."""
    found: dict[str, list[tuple[str, int]]] = {}
    for node in cluster.nodes:
        if node.vm:
            found.setdefault(node.vm.host, []).append((node.name, node.vm.memory * MIB))
    return found


def _host(
    name: str,
    hosts: Mapping[str, RunningHost],
    promised: Mapping[str, Sequence[tuple[str, int]]],
) -> dict[str, Any]:
    running = hosts.get(name)
    mine = promised.get(name, ())
    homeless = unplaced(name, hosts, mine)
    return {
        "name": name,
        "online": running.online if running else None,
        "cores": running.cores if running else None,
        "memory": running.memory if running else None,
        "used": running.used if running else None,
        "promised": sum(memory for _, memory in mine),
        "vms": len(mine),
        # None: it is not known how much memory the other hosts have.
        "homeless": homeless,
    }


def unplaced(
    failing: str, hosts: Mapping[str, RunningHost], vms: Sequence[tuple[str, int]]
) -> list[str] | None:
    """The VMs that fit on no other host if this one fails, the largest placed first."""
    room: dict[str, int] = {}
    for name, host in hosts.items():
        if name == failing or not host.online:
            continue
        if host.memory is None or host.used is None:
            return None
        room[name] = host.memory - host.used
    if failing not in hosts:
        return None
    left = []
    for vm, memory in sorted(vms, key=lambda each: -each[1]):
        best = max(room, key=lambda name: room[name], default="")
        if best and room[best] >= memory:
            room[best] -= memory
        else:
            left.append(vm)
    return left


def _storages(cluster: Cluster, hosts: Mapping[str, RunningHost]) -> list[dict[str, Any]]:
    """A storage that hosts share is listed once."""
    disks: dict[str, int] = {}
    for node in cluster.nodes:
        if node.vm:
            disks[node.vm.host] = disks.get(node.vm.host, 0) + node.vm.disk_size * GIB
    main = cluster.proxmox.disk_storage if cluster.proxmox else ""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for host in hosts.values():
        for each in host.storages:
            place = "all hosts" if each.shared else host.name
            row = found.setdefault(
                (place, each.name),
                {
                    "host": place,
                    "name": each.name,
                    "kind": each.kind,
                    "active": each.active,
                    "total": each.total or None,
                    "used": each.total - each.free if each.total else None,
                    "promised": 0,
                },
            )
            if each.name == main:
                row["promised"] += disks.get(host.name, 0)
    return list(found.values())

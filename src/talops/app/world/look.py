"""Ask nodes, Kubernetes and Proxmox at the same time; a silent part hides no other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.app.world.model import EtcdMember, HostStorage, RunningHost, RunningNode, World
from talops.errors import TalopsError
from talops.kube.conditions import condition
from talops.proxmox.client import Client
from talops.proxmox.nodes import hosts
from talops.proxmox.storage import storages
from talops.rolls.marks import is_cordoned
from talops.site.connections import Connections, errors_of, values_of
from talops.site.proxmox.access import access_of
from talops.talos.calls.etcd import member_name
from talops.talos.kinds import ADDRESSES, MACHINE_STATUS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.kube.objects import Object
    from talops.proxmox.client import Access
    from talops.site.site import Site
    from talops.talos.calls.etcd import EtcdAlarm, EtcdStatus
    from talops.talos.client import Talos

# What etcd uses unless its config sets another one.
QUOTA = 2 * 2**30
Unread = dict[str, TalopsError]


@dataclass(frozen=True)
class _Machine:
    talos: str
    stage: str
    unmet: str
    addresses: frozenset[str]


async def look(site: Site) -> World:
    """Its errors are values: an exception is a bug."""
    connections = Connections(site, site.secrets)
    async with connections.one_look():
        machines, members, kube, found = await asyncio.gather(
            _machines(connections), _etcd(connections), _kubernetes(connections), _hosts(site)
        )
    running, unread = machines
    nodes = {
        node.name: _node(site, node.name, running.get(node.name), (kube[0] or {}).get(node.name))
        for node in site.cluster.nodes
    }
    missing = {**unread, **members[1], **kube[1], **found[1]}
    return World(nodes, members[0], found[0], missing)


async def _machines(connections: Connections) -> tuple[dict[str, _Machine], Unread]:
    try:
        answers = await connections.ask(connections.site.cluster.nodes, _machine)
    except TalopsError as error:
        return {}, {"Talos": error}
    silent = {f"node {name}": error for name, error in errors_of(answers).items()}
    return values_of(answers), silent


async def _machine(talos: Talos) -> _Machine:
    version, statuses, addresses = await asyncio.gather(
        talos.version(), talos.resources.all(MACHINE_STATUS), talos.resources.all(ADDRESSES)
    )
    status = statuses[0] if statuses else None
    return _Machine(
        version.tag,
        status.stage if status else "",
        status.reasons if status and not status.ready else "",
        frozenset(each.address.partition("/")[0] for each in addresses),
    )


async def _etcd(connections: Connections) -> tuple[tuple[EtcdMember, ...], Unread]:
    planes = connections.site.cluster.control_planes
    try:
        answers = await connections.ask(planes, _member)
    except TalopsError as error:
        return (), {"etcd": error}
    silent = {f"etcd of {name}": error for name, error in errors_of(answers).items()}
    return tuple(member(name, *answer) for name, answer in values_of(answers).items()), silent


async def _member(talos: Talos) -> tuple[EtcdStatus, Sequence[EtcdAlarm]]:
    return await talos.etcd.status(), await talos.etcd.alarms()


def member(node: str, status: EtcdStatus, alarms: Sequence[EtcdAlarm]) -> EtcdMember:
    """Each member reports the alarms of all: only its own are kept."""
    return EtcdMember(
        node=node,
        member=member_name(status.member_id),
        leader=bool(status.leader) and status.leader == status.member_id,
        learner=status.learner,
        size=status.db_size,
        in_use=status.db_size_in_use,
        quota=QUOTA,
        term=status.raft_term,
        index=status.raft_applied_index,
        errors=status.errors,
        alarms=tuple(a.alarm for a in alarms if a.member_id in {0, status.member_id}),
    )


async def _kubernetes(connections: Connections) -> tuple[Mapping[str, Object] | None, Unread]:
    try:
        return await connections.kube_nodes(), {}
    except TalopsError as error:
        return None, {"Kubernetes": error}


def _node(site: Site, name: str, machine: _Machine | None, seen: Object | None) -> RunningNode:
    vip = site.cluster.vip
    info: dict[str, Any] = ((seen or {}).get("status") or {}).get("nodeInfo") or {}
    return RunningNode(
        name,
        talos=machine.talos if machine else "",
        stage=machine.stage if machine else "",
        unmet=site.redact(machine.unmet) if machine else "",
        kubelet=str(info.get("kubeletVersion") or ""),
        ready=None if seen is None else not condition(seen, "Ready"),
        cordoned=seen is not None and is_cordoned(seen),
        vip=bool(vip and machine and str(vip) in machine.addresses),
    )


async def _hosts(site: Site) -> tuple[dict[str, RunningHost], Unread]:
    if site.cluster.proxmox is None:
        return {}, {}
    try:
        async with Client(_access(site)) as client:
            return await _read_hosts(client, site.cluster.proxmox.hosts)
    except TalopsError as error:
        return {}, {"Proxmox": error}


def _access(site: Site) -> Access:
    found = access_of(site)
    if found is None:
        raise TalopsError("Proxmox credentials are not set", hint="talops host prepare")
    return found


async def _read_hosts(
    client: Client, wanted: Sequence[str]
) -> tuple[dict[str, RunningHost], Unread]:
    unread: Unread = {}
    found: dict[str, RunningHost] = {}
    for host in await hosts(client):
        if host.name not in wanted:
            continue
        kept: tuple[HostStorage, ...] = ()
        if host.online:
            try:
                kept = await _storages(client, host.name)
            except TalopsError as error:
                unread[f"storages of {host.name}"] = error
        else:
            unread[f"host {host.name}"] = TalopsError("Proxmox reports that it is offline")
        found[host.name] = RunningHost(
            host.name, host.online, host.cores, host.memory, host.used_memory, kept
        )
    for name in wanted:
        if name not in found:
            unread[f"host {name}"] = TalopsError("Proxmox does not list this host")
    return found, unread


async def _storages(client: Client, host: str) -> tuple[HostStorage, ...]:
    return tuple(
        HostStorage(each.name, each.type, each.total, each.free, each.shared, each.active)
        for each in await storages(client, host)
    )

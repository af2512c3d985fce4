"""The member list of Talos matches the inventory.

Without a discovery service each node knows only itself. Then every node is asked about itself, and
the checks of etcd and Kubernetes find missing and unexpected nodes. With discovery disabled in the
config, a node lists no members at all.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.pipeline.checks import failed, from_error, passed, skipped, warning
from talops.plural import count
from talops.site.connections import errors_of, values_of
from talops.talos.client import Talos
from talops.talos.kinds import DISCOVERY, DISCOVERY_ID, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections
    from talops.talos.kinds import Discovery, Member

    Lists = Mapping[str, Sequence[Member]]

_TYPES = {"controlplane": "control plane", "worker": "worker"}


async def look(connections: Connections) -> list[Finding]:
    """Ask every control plane: each keeps its own list."""
    cluster = connections.site.cluster
    answers = await connections.ask(cluster.control_planes, _members)
    unread = [from_error(error) for error in errors_of(answers).values()]
    lists = values_of(answers)
    if not each_alone(cluster, lists):
        return unread + judge(cluster, lists, await _gone(connections, lists))
    workers = await connections.ask(
        [node for node in cluster.nodes if not node.controller], _members
    )
    unread += [from_error(error) for error in errors_of(workers).values()]
    wanted = await connections.ask(cluster.control_planes[:1], _discovery)
    setting = next(iter(values_of(wanted).values()), None)
    return unread + judge_alone(cluster, lists | values_of(workers), setting)


async def _gone(connections: Connections, lists: Lists) -> frozenset[str]:
    """Members that the inventory does not have, and whose machines do not answer any more."""
    cluster = connections.site.cluster
    listed = {member.hostname: member for members in lists.values() for member in members}
    strangers = [m for name, m in listed.items() if name not in cluster.node_names]
    credentials = (await connections.fleet()).credentials

    async def silent(member: Member) -> bool:
        for address in member.addresses:
            async with Talos.connect(str(address), credentials) as talos:
                try:
                    await talos.version()
                except UnreachableError:
                    continue
                except TalopsError:
                    return False
                return False
        return True

    found = await asyncio.gather(*map(silent, strangers))
    return frozenset(m.hostname for m, gone in zip(strangers, found, strict=True) if gone)


async def _members(talos: Talos) -> Sequence[Member]:
    return await talos.resources.all(MEMBERS)


async def _discovery(talos: Talos) -> Discovery | None:
    return await talos.resources.find(DISCOVERY, DISCOVERY_ID)


def each_alone(cluster: Cluster, lists: Lists) -> bool:
    """Whether each of several nodes knows only itself: no discovery service connects them."""
    known = [{member.hostname for member in members} <= {name} for name, members in lists.items()]
    return bool(known) and all(known) and len(cluster.nodes) > 1


def judge(cluster: Cluster, lists: Lists, gone: frozenset[str] = frozenset()) -> list[Finding]:
    """`gone`: discovery remembers them for up to 30 minutes."""
    found: list[Finding] = []
    for asked, members in lists.items():
        listed = {m.hostname: m for m in members if m.hostname not in gone}
        found += _one_list(cluster, asked, listed)
    found += [
        warning(
            f"{name} does not answer any more, but is still a Talos member",
            hint="its entry in the discovery service expires within 30 minutes",
        )
        for name in sorted(gone)
    ]
    if lists and not found:
        nodes = count(len(cluster.nodes), "node")
        found = [passed(f"Talos members match the inventory ({nodes})")]
    return list(dict.fromkeys(found))


def judge_alone(cluster: Cluster, lists: Lists, setting: Discovery | None) -> list[Finding]:
    """What each node reports about itself, and why nodes do not list each other."""
    found: list[Finding] = []
    on = setting is not None and setting.enabled
    for node in cluster.nodes:
        if node.name not in lists:
            continue  # no answer is a finding of its own
        own = {member.hostname: member for member in lists[node.name]}
        if node.name in own:
            found += _own(node, own[node.name])
        elif on or own:  # with discovery disabled a node does not even list itself
            found += _missing(node, node.name)
    how = "compared what each node reports about itself; etcd and Kubernetes list the others"
    if setting is not None and setting.enabled:
        where = setting.service or "the discovery service"
        hint = f"allow the nodes to reach {where}, or disable cluster.discovery"
        return [*found, warning(f"no node has discovered another node: {how}", hint=hint)]
    if not any(lists.values()):
        return [skipped("discovery is disabled, so Talos lists no members; etcd and Kubernetes do")]
    return found or [
        passed(f"{count(len(lists), 'node')} match the inventory; discovery is disabled: {how}")
    ]


def _one_list(cluster: Cluster, asked: str, seen: Mapping[str, Member]) -> list[Finding]:
    wanted = {node.name: node for node in cluster.nodes}
    found = [f for name in wanted if name not in seen for f in _missing(wanted[name], asked)]
    found += [
        failed(
            f"{name} is a Talos member but not in the inventory",
            hint=f"add it to nodes.yaml, or remove it: talops up --allow-destroy {name}",
            final=True,
        )
        for name in seen
        if name not in wanted
    ]
    for name, member in seen.items():
        if name in wanted:
            found += _own(wanted[name], member)
    return found


def _missing(node: Node, asked: str) -> list[Finding]:
    hint = f"talops talos services --nodes {node.address}"
    return [failed(f"{node.name} is not a Talos member", where=asked, hint=hint)]


def _own(node: Node, member: Member) -> list[Finding]:
    found = []
    if member.machine_type != _TYPES[node.role]:
        found.append(
            failed(
                f"{node.name} is a {member.machine_type}, but the inventory says "
                f"{_TYPES[node.role]}",
                hint="the role of a node cannot change: reset the node, then talops up",
                final=True,
            )
        )
    if member.addresses and node.address not in member.addresses:
        others = ", ".join(map(str, member.addresses))
        found.append(
            failed(
                f"{node.name} has {others}, but the inventory says {node.address}",
                hint="talops up --only apply-config",
            )
        )
    return found

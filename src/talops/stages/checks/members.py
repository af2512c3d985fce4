"""Talos' own list of members is the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, from_error, passed
from talops.stages.checks.reach import errors_of, values_of
from talops.talos.kinds import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.pipeline.checks import Finding
    from talops.stages.checks.reach import Reach
    from talops.talos.kinds import Member

_TYPES = {"controlplane": "control plane", "worker": "worker"}


async def look(reach: Reach) -> list[Finding]:
    """Every control plane is asked: each keeps a list of its own."""
    planes = reach.site.cluster.control_planes
    answers = await reach.ask(planes, lambda talos: talos.resources.all(MEMBERS))
    unread = [from_error(error) for error in errors_of(answers).values()]
    return unread + judge(reach.site.cluster, values_of(answers))


def judge(cluster: Cluster, lists: Mapping[str, Sequence[Member]]) -> list[Finding]:
    found: list[Finding] = []
    for asked, members in lists.items():
        found += _one_list(cluster, asked, {member.hostname: member for member in members})
    if lists and not found:
        count = len(cluster.nodes)
        found = [passed(f"{count} nodes of the inventory, and no other, are Talos members")]
    return list(dict.fromkeys(found))


def _one_list(cluster: Cluster, asked: str, seen: Mapping[str, Member]) -> list[Finding]:
    wanted = {node.name: node for node in cluster.nodes}
    missing = [name for name in wanted if name not in seen]
    found = [
        failed(
            f"{name} is no Talos member",
            where=asked,
            hint=f"talops talos services --nodes {wanted[name].address}",
        )
        for name in missing
    ]
    found += [
        failed(
            f"{name} is a Talos member and not in the inventory",
            hint="add it to nodes.yaml, or reset it: talops talos reset --nodes …",
            final=True,
        )
        for name in seen
        if name not in wanted
    ]
    for name, member in seen.items():
        if name in wanted:
            found += _differences(wanted[name], member)
    return found


def _differences(node: Node, member: Member) -> list[Finding]:
    found = []
    if member.machine_type != _TYPES[node.role]:
        found.append(
            failed(
                f"{node.name} is {member.machine_type}, the inventory says {_TYPES[node.role]}",
                hint="a role is given for life: reset the node, then talops up",
                final=True,
            )
        )
    if member.addresses and node.address not in member.addresses:
        others = ", ".join(map(str, member.addresses))
        found.append(
            failed(
                f"{node.name} has {others}, the inventory says {node.address}",
                hint="talops up --only apply-config",
            )
        )
    return found

"""Which control plane to take a snapshot from: one that agrees with the others, leaders last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.site.connections import Connections, errors_of, values_of

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.site.site import Site
    from talops.talos.calls.etcd import EtcdStatus
    from talops.talos.client import Talos

# Entries that a healthy member may lag behind for a moment.
BEHIND = 1000


@dataclass(frozen=True)
class Source:
    node: Node
    status: EtcdStatus
    talos_version: str


async def find_sources(site: Site) -> list[Source]:
    """The best first; an error if none has a healthy etcd."""
    connections = Connections(site, site.secrets)
    planes = site.cluster.control_planes
    answers = await connections.ask(planes, _look)
    found = [
        Source(node, *values)
        for node in planes
        if (values := values_of(answers).get(node.name)) and healthy(values[0])
    ]
    if found:
        return ordered(found)
    errors = [str(error) for error in errors_of(answers).values()]
    unhealthy = [f"{n}: etcd is not healthy" for n in values_of(answers)]
    raise TalopsError(
        "no control plane has a healthy etcd to take a snapshot from: "
        + "; ".join([*errors, *unhealthy]),
        hint="talops verify; if the majority is lost: talops backup create --without-majority, "
        "then talops recover --from-backup latest",
    )


def healthy(status: EtcdStatus) -> bool:
    """A member without a leader, a learner, or one with an alarm may be behind or damaged."""
    return bool(status.leader) and not status.learner and not status.errors


def ordered(found: list[Source]) -> list[Source]:
    """Most applied first in steps that matter; among equals not the leader, which has work."""
    newest = max(source.status.raft_applied_index for source in found)

    def rank(source: Source) -> tuple[bool, bool]:
        behind = newest - source.status.raft_applied_index > BEHIND
        return behind, source.status.leader == source.status.member_id

    return sorted(found, key=rank)


async def _look(talos: Talos) -> tuple[EtcdStatus, str]:
    return await talos.etcd.status(), (await talos.version()).tag

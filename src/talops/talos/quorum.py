"""Whether an etcd cluster survives the absence of one of its members.

Talos itself checks this only in the upgrade call before 1.13; since then the caller must.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.talos.client import each
from talops.talos.errors import PreconditionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.talos.client import Talos

_PAIR = 2


@dataclass(frozen=True)
class Health:
    """How many members there are, and why some do not count as healthy."""

    members: int
    unhealthy: tuple[str, ...]

    @property
    def healthy(self) -> int:
        return self.members - len(self.unhealthy)


def objection(health: Health) -> str | None:
    """Why no member may stop now; None when one may."""
    if health.members == 1:
        return None  # no quorum to keep: Kubernetes is down until the node is back
    if health.members == _PAIR:
        return "with two etcd members the absence of one stops the cluster"
    if health.unhealthy:
        return "etcd members are not healthy: " + "; ".join(health.unhealthy)
    return None


async def look(control_planes: Sequence[Talos]) -> Health:
    """Ask every control plane, so that a member that does not answer counts as unhealthy."""
    answers = await each(control_planes, lambda talos: talos.etcd.status())
    unhealthy = []
    leaders = set()
    for talos, answer in answers:
        if isinstance(answer, Exception):
            unhealthy.append(str(answer))
        elif answer.errors or answer.learner or not answer.leader:
            what = "; ".join(answer.errors) or ("learner" if answer.learner else "no leader")
            unhealthy.append(f"{talos.where}: {what}")
        else:
            leaders.add(answer.leader)
    if len(leaders) > 1:
        unhealthy.append(f"members follow {len(leaders)} different leaders")
    return Health(len(control_planes), tuple(unhealthy))


async def require(control_planes: Sequence[Talos]) -> None:
    if reason := objection(await look(control_planes)):
        raise PreconditionError(
            reason, where="etcd", hint="`talops talos etcd status` shows every member"
        )

"""In which order nodes are taken out of service, and how many at the same time. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.inventory.model import Cluster

_WIDTH = re.compile(r"([0-9]+)(%?)")
_ALL = 100
# More nodes than this: one of them goes first and alone.
CANARY_FROM = 4


@dataclass(frozen=True)
class Width:
    """How many workers may be away at the same time: a number, or a share of all workers."""

    number: int = 1
    percent: bool = False

    @classmethod
    def parse(cls, text: str) -> Width:
        found = _WIDTH.fullmatch(text.strip())
        number = int(found[1]) if found else 0
        percent = bool(found and found[2])
        if number < 1 or (percent and number > _ALL):
            raise TalopsError(
                f"{text!r} is not a number of workers",
                where="--max-unavailable",
                hint="write a number like 2, or a share like 25%",
            )
        return cls(number, percent)

    def of(self, workers: int) -> int:
        """At least one; a share is rounded down, as Kubernetes rounds maxUnavailable."""
        return max(1, workers * self.number // _ALL if self.percent else self.number)

    def __str__(self) -> str:
        return f"{self.number}{'%' if self.percent else ''}"


ONE = Width()


def out_of_service(cluster: Cluster, name: str) -> tuple[bool, tuple[int, ...]]:
    """Whether the pods of this node are moved before it restarts, and how many members etcd has
    before, during and after.
    """
    planes = [node.name for node in cluster.control_planes]
    members = (len(planes), len(planes) - 1, len(planes)) if name in planes else ()
    return len(cluster.nodes) > 1, members


@dataclass(frozen=True)
class Candidate:
    """A node that has to be taken out of service once.

    `under_way`: an interrupted roll has begun with it. `sick`: it is not healthy now, so that
    stopping it costs least. `leader`: it leads etcd.
    """

    name: str
    controller: bool
    sick: bool = False
    under_way: bool = False
    leader: bool = False


@dataclass(frozen=True)
class Group:
    """`width` of these nodes may be away at the same time; the next group waits for all of them."""

    names: tuple[str, ...]
    width: int = 1


def groups(
    candidates: Iterable[Candidate], workers: int, width: Width = ONE, *, canary: bool = False
) -> tuple[Group, ...]:
    """What was begun is finished first; then control planes one by one; then the other workers.

    `workers` is the number of all workers of the cluster. With `canary`, the first worker of many
    goes alone.
    """
    listed = list(candidates)
    begun = [c for c in listed if c.under_way]
    left = [c for c in listed if not c.under_way]
    planes = sorted((c for c in left if c.controller), key=lambda c: (not c.sick, c.leader))
    others = sorted((c for c in left if not c.controller), key=lambda c: not c.sick)
    one_by_one = [*sorted(begun, key=lambda c: not c.controller), *planes]
    if canary and not planes and len(others) >= CANARY_FROM:
        one_by_one.append(others.pop(0))
    return (*_group(one_by_one, 1), *_group(others, width.of(workers)))


def _group(members: Sequence[Candidate], width: int) -> tuple[Group, ...]:
    return (Group(tuple(member.name for member in members), width),) if members else ()

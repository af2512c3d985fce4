"""The steps in which the nodes of a cluster change, and refusals with the safe way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    ADD = "add"
    ONLINE = "update"
    RESTART = "restart"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True)
class World:
    """What the cluster says of itself.

    `members`: voting members of etcd. `sick`: members that are not healthy.
    """

    members: frozenset[str] = frozenset()
    sick: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """Nodes that change together. Steps follow one another: each ends with healthy nodes.

    `members`: how many members etcd has before, in the middle and after. `why`: the reasons, by
    node. `drains`: pods are moved to other nodes first.
    """

    action: Action
    names: tuple[str, ...]
    controller: bool
    why: tuple[str, ...] = ()
    members: tuple[int, ...] = ()
    drains: bool = False

    def as_dict(self) -> dict[str, object]:
        return {
            "action": str(self.action),
            "nodes": list(self.names),
            "role": "controlplane" if self.controller else "worker",
            "why": list(self.why),
            "etcd_members": list(self.members),
            "drains": self.drains,
        }


class Reason(StrEnum):
    """Why an order of changes is refused."""

    TAKEN = "taken"
    REMOVALS = "removals"
    ONLY = "only"
    PAIR = "pair"
    SICK = "sick"
    LOST = "lost"
    RENAMED = "renamed"
    ROLE = "role"
    REPLACED = "replaced"


@dataclass(frozen=True)
class Refusal:
    """`waiting`: nodes that must not change yet. `first`: those that change in a first run, while
    the others stay as they are. `park`: a node that needs a free address, MAC or VMID in that run.
    """

    reason: Reason
    what: str
    safe: str
    waiting: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    park: str = ""


@dataclass(frozen=True)
class NodePlan:
    """Either steps or refusals, never both."""

    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()

"""What one look at a cluster and its hosts gave; `unread` is why a part could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.errors import TalopsError


@dataclass(frozen=True)
class RunningNode:
    """Empty texts and None: not known. `vip`: it holds the address of the endpoint."""

    name: str
    talos: str = ""
    stage: str = ""
    unmet: str = ""
    kubelet: str = ""
    ready: bool | None = None
    cordoned: bool = False
    vip: bool = False


@dataclass(frozen=True)
class EtcdMember:
    """Sizes in bytes; `quota` is at which size etcd stops accepting writes."""

    node: str
    member: str
    leader: bool
    learner: bool
    size: int
    in_use: int
    quota: int
    term: int
    index: int
    errors: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()

    @property
    def fragmented(self) -> float:
        """The share of the database that `talops talos etcd defrag` frees."""
        return 1 - self.in_use / self.size if self.size else 0.0


@dataclass(frozen=True)
class HostStorage:
    """Bytes; `shared`: the same storage on several hosts."""

    name: str
    kind: str
    total: int
    free: int
    shared: bool
    active: bool


@dataclass(frozen=True)
class RunningHost:
    """Memory in bytes; None: the token may not read it."""

    name: str
    online: bool
    cores: int | None = None
    memory: int | None = None
    used: int | None = None
    storages: tuple[HostStorage, ...] = ()


@dataclass(frozen=True)
class World:
    """`unread`: part, like `node w-1` or `host pve1` → why it could not be read."""

    nodes: Mapping[str, RunningNode] = field(default_factory=dict)
    etcd: tuple[EtcdMember, ...] = ()
    hosts: Mapping[str, RunningHost] = field(default_factory=dict)
    unread: Mapping[str, TalopsError] = field(default_factory=dict)

    @property
    def leader(self) -> str:
        """The node that leads etcd; empty if members disagree or none answered."""
        found = [each.node for each in self.etcd if each.leader]
        return found[0] if len(found) == 1 else ""

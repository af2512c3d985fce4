"""A cluster as another tool describes it, or as it runs: what every import starts from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.problems import Position

Document = dict[str, Any]


@dataclass(frozen=True)
class Left:
    """A value of the source that the inventory does not contain, and why. Never the value."""

    key: str
    where: Position
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.key}: {self.why}"


@dataclass(frozen=True)
class FoundNode:
    """`documents`: the whole machine config that the node runs, or that the other tool renders.

    `keys`: keys of nodes.yaml that a config does not contain, such as `vm_id`, `host` or `uuid`;
    they win over what is read from the config. `vm`: the settings of its VM by the names of
    `importing.vms`, for the comparison; empty if unknown.
    """

    name: str
    address: IPv4Address
    controller: bool
    documents: tuple[Document, ...] = field(repr=False)
    keys: Mapping[str, Any] = field(default_factory=dict)
    vm: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FoundCluster:
    """`keys`: keys of cluster.yaml that the configs do not contain; they win over the configs.

    `talos_version` is what the nodes run; `bundle` is complete and belongs to the configs.
    `secret_values`: texts that the source kept encrypted; a patch with one is encrypted too.
    """

    source: str
    name: str
    talos_version: str
    kubernetes_version: str
    bundle: Bundle = field(repr=False)
    nodes: tuple[FoundNode, ...]
    keys: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[Left, ...] = ()
    notes: tuple[str, ...] = ()
    secret_values: frozenset[str] = field(default=frozenset(), repr=False)

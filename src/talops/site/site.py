"""One cluster as its stages see it: inventory, directory, keys, and locations of programs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.inventory.model import Cluster, Node
    from talops.redaction import Secret
    from talops.secrets.sops import Sops


@dataclass(frozen=True)
class Limits:
    """The timeout of each kind of wait, in seconds."""

    boot: float = 300.0
    install: float = 600.0
    etcd: float = 300.0
    kubernetes: float = 300.0
    # Seconds between two probes of a wait.
    interval: float = 0.5


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    root: Path
    sops: Sops
    engine: Path
    environment: Mapping[str, str]
    credentials: Mapping[str, Secret]
    kubeconfig: Path
    limits: Limits = field(default_factory=Limits)
    # Stages that work node by node touch only nodes whose names match.
    nodes: re.Pattern[str] = field(default_factory=lambda: re.compile(""))

    @property
    def chosen(self) -> tuple[Node, ...]:
        return tuple(node for node in self.cluster.nodes if self.nodes.search(node.name))

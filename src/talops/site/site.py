"""One cluster as its stages see it: inventory, directory, keys, and where the programs are."""

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
    """How long each wait may take, in seconds, before it is said to have failed."""

    boot: float = 300.0
    install: float = 600.0
    etcd: float = 300.0
    kubernetes: float = 300.0
    # How often the one polling loop looks.
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
    # Only nodes whose names match are touched by stages that work node by node.
    nodes: re.Pattern[str] = field(default_factory=lambda: re.compile(""))

    @property
    def chosen(self) -> tuple[Node, ...]:
        return tuple(node for node in self.cluster.nodes if self.nodes.search(node.name))

"""The directory of one cluster: closed, as its inventory alone says, and opened with its keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from talops.pipeline.lease import Fence
from talops.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from talops.inventory.model import Cluster, Node
    from talops.inventory.operating import Timeouts
    from talops.redaction import Secret
    from talops.secrets.sops import Sops
    from talops.site.secrets_file import SecretsFile


@dataclass(frozen=True)
class Limits:
    """The timeout of each kind of wait, in seconds."""

    boot: float = 300.0
    install: float = 600.0
    etcd: float = 300.0
    kubernetes: float = 300.0
    # A config that could cut a node off is reverted after this time, unless it is confirmed; it is
    # not confirmed before the node has answered for `settle`.
    trial: float = 120.0
    settle: float = 5.0
    # Seconds between two probes of a wait.
    interval: float = 0.5

    @classmethod
    def of(cls, timeouts: Timeouts) -> Limits:
        """As cluster.yaml says."""
        return cls(timeouts.boot, timeouts.install, timeouts.etcd, timeouts.kubernetes)


@dataclass(frozen=True)
class ClosedSite:
    """The part that needs no keys and no programs; `credentials` may be incomplete."""

    cluster: Cluster
    root: Path
    environment: Mapping[str, str]
    credentials: Mapping[str, Secret]

    def path_of(self, file: str | None) -> str | None:
        return str(self.root / file) if file else None


@dataclass(frozen=True)
class Site(ClosedSite):
    """Opened for one command: inventory, directory, keys, and where the programs are."""

    sops: Sops
    engine: Path
    kubeconfig: Path
    limits: Limits = field(default_factory=Limits)
    # Stages that work node by node touch only nodes whose names match.
    nodes: re.Pattern[str] = field(default_factory=lambda: re.compile(""))
    # Masks all output of this site: events, records, findings.
    redact: Redactor = field(default_factory=Redactor, compare=False)
    # Closed when the run on this site loses its lock.
    fence: Fence = field(default_factory=Fence, compare=False)

    def __post_init__(self) -> None:
        self.redact.learn(*self.credentials.values())

    @cached_property
    def secrets(self) -> SecretsFile:
        """The cluster's secrets, read once; all output of this site masks them."""
        from talops.site.secrets_file import SecretsFile

        return SecretsFile(self, self.redact.learn)

    def only(self, names: Iterable[str]) -> Site:
        """The same site with only these nodes selected."""
        pattern = "|".join(re.escape(name) for name in names)
        return replace(self, nodes=re.compile(f"^(?:{pattern})$"))

    @property
    def chosen(self) -> tuple[Node, ...]:
        return tuple(node for node in self.cluster.nodes if self.nodes.search(node.name))

"""What an export contains, and what it starts from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address

    from talops.importing.model import Document
    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle


@dataclass(frozen=True)
class Exported:
    """The cluster as talops applies it."""

    cluster: Cluster
    bundle: Bundle = field(repr=False)
    configs: Mapping[str, tuple[Document, ...]] = field(repr=False)

    def addresses(self) -> dict[str, IPv4Address]:
        return {node.name: node.address for node in self.cluster.nodes}

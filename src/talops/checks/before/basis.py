"""The inputs of preflight: the inventory always, keys and programs if available."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class Ground:
    """`site` and `secrets` are None if keys or programs are missing; another check reports why."""

    cluster: Cluster
    root: Path
    site: Site | None = None
    secrets: SecretsFile | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def path_of(self, file: str | None) -> str | None:
        return str(self.root / file) if file else None

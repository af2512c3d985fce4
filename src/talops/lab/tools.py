"""What a lab borrows from the machine it runs on; the command line finds or makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.talos.settings import Tools


@dataclass(frozen=True)
class ProviderTools:
    """Where a lab's provider comes from: `given` (TALOPS_PROVIDER_MIRROR), a download, ours."""

    version: str
    cache: Path
    given: Path | None = None
    tofu: Path | None = None


@dataclass(frozen=True)
class LabTools:
    """Without `control_plane` VMs run, but nothing inside them."""

    control_plane: Tools | None = None
    provider: ProviderTools | None = None


NOTHING = LabTools()

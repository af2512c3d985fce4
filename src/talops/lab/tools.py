"""The tools of the machine that a lab uses; the command line finds or builds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.machine.settings import Tools


@dataclass(frozen=True)
class Provider:
    """bpg/proxmox for OpenTofu: `settings` is the CLI configuration that makes `init` use it."""

    version: str
    settings: str
    origin: str


@dataclass(frozen=True)
class LabTools:
    """Without `control_plane` VMs run, but nothing inside them."""

    control_plane: Tools | None = None
    provider: Provider | None = None


NOTHING = LabTools()

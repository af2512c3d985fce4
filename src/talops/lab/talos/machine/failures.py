"""The next action of a node, and the ways in which a sequence can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.machine.image import Image

PHASES = (
    "boot", "network", "maintenance", "install", "config", "services", "etcd", "kubernetes",
    "kubelet", "stop", "upgrade", "reset",
)  # fmt: skip


class SequenceFailedError(Exception):
    """A sequence of Talos ended with this text; the node boots again."""


class CrashedError(Exception):
    """A kernel panic, caused by a fault."""


@dataclass(frozen=True)
class NextAction:
    """The next action requested from the node."""

    kind: str  # reboot, shutdown, reset, upgrade
    actor: str = ""
    force: bool = False
    graceful: bool = True
    reboot: bool = True
    partitions: tuple[str, ...] = ()
    system_disk: bool = True
    image: Image | None = None

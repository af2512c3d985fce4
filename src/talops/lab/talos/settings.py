"""How a lab's nodes behave: where they keep things, how long things take, which tools they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Timing:
    """Seconds as on modest hardware, times `scale`: 1 is lifelike, 0 is as fast as it goes."""

    scale: float = 1.0
    firmware: float = 6.0
    boot: float = 8.0
    install: float = 20.0
    services: float = 3.0
    kubelet: float = 4.0
    stop: float = 3.0
    pull: float = 5.0
    panic: float = 10.0  # until a crashed or failed node boots again
    lease: float = 10.0  # not scaled: a lease means the same in any lab
    grace: float = 40.0  # not scaled: until a silent kubelet makes its node Unknown

    def of(self, seconds: float) -> float:
        return seconds * self.scale


@dataclass(frozen=True)
class Binaries:
    """The two real tools behind a control plane."""

    etcd: Path
    kube_apiserver: Path


@dataclass(frozen=True)
class LabSettings:
    """`reservations` maps a MAC to the address that the lab's DHCP gives it."""

    directory: Path
    binaries: Binaries
    timing: Timing = field(default_factory=Timing)
    default_version: str = "v1.13.9"
    reservations: Mapping[str, str] = field(default_factory=dict)
    apiservers: Literal["every", "leader-only"] = "every"


def minor_of(version: str) -> int:
    """13 for v1.13.9."""
    return int(version.removeprefix("v").split(".")[1])

"""Settings of a lab's nodes: directories, durations, tools."""

from __future__ import annotations

import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# Returns the path of `etcd`, `kube-apiserver`, … when a control plane first needs it.
Tools = Callable[[str], Awaitable[Path]]


@dataclass(frozen=True)
class Timing:
    """Seconds as on modest hardware, times `scale`: 1 is realistic, 0 is as fast as possible."""

    scale: float = 1.0
    firmware: float = 6.0
    boot: float = 8.0
    install: float = 20.0
    services: float = 3.0
    kubelet: float = 4.0
    stop: float = 3.0
    pull: float = 5.0
    panic: float = 10.0  # until a crashed or failed node boots again
    swap: tuple[float, float] = (0.06, 0.2)  # not scaled: from first config to new certificate
    authoriser: float = 0.1  # not scaled: how long callers are still readers after that
    lease: float = 10.0  # not scaled: leases are the same in every lab
    grace: float = 40.0  # not scaled: until a silent kubelet makes its node Unknown
    tolerated: float = 300.0  # not scaled: how long pods stay on a node that is not ready
    pod_start: float = 2.0
    pod_stop: float = 1.0
    attach: float = 2.0  # a volume, or detach it

    def of(self, seconds: float) -> float:
        return seconds * self.scale

    def swap_of(self, uuid: str) -> float:
        """Differs between machines, not between runs."""
        shortest, longest = self.swap
        return shortest + (longest - shortest) * zlib.crc32(uuid.encode()) / 2**32


@dataclass(frozen=True)
class LabSettings:
    """`reservations` maps a MAC to the address that the lab's DHCP gives it; the file `dhcp.json`
    in the directory may hold more of them, and is read at every boot.
    """

    directory: Path
    tools: Tools
    timing: Timing = field(default_factory=Timing)
    default_version: str = "v1.13.9"
    reservations: Mapping[str, str] = field(default_factory=dict)
    apiservers: Literal["every", "leader-only"] = "every"
    discovery: bool = True  # whether the nodes can reach a discovery service
    # Whether pods run: with a real controller manager and scheduler for each cluster.
    workloads: bool = False


def minor_of(version: str) -> int:
    """13 for v1.13.9."""
    return int(version.removeprefix("v").split(".")[1])


def dhcp_reservations(settings: LabSettings) -> dict[str, str]:
    """By lower-case MAC."""
    path = settings.directory / "dhcp.json"
    try:
        more = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        more = {}
    return {mac.lower(): str(address) for mac, address in {**settings.reservations, **more}.items()}

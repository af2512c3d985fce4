"""How a plan is applied: what it may do, and what is asked of real VMs and of etcd meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from talops.approval import Item
    from talops.tofu.judge import Judged
    from talops.tofu.ordering import Batch
    from talops.tofu.plan import Change

# VMID → the slots of its disks as Proxmox shows them, without CD-ROM and cloud-init drives.
# A missing VM could not be read; an empty set means that it has no disks.
Disks = Mapping[int, frozenset[str]]
ReadDisks = Callable[["Sequence[Change]"], Awaitable[Disks | None]]
Healthy = Callable[["Batch"], Awaitable[None]]
# Address → import id (NODE/VMID) of VMs that exist but are not in the state.
FindLost = Callable[["Sequence[Change]"], Awaitable[Mapping[str, str]]]
# Raises if a VM that is about to be destroyed is not the one that the state recorded.
Identify = Callable[["Sequence[Change]"], Awaitable[None]]
# Address of a VM to create → the VM that already has its VMID.
Occupied = Callable[["Sequence[Change]"], Awaitable[Mapping[str, str]]]
# Raises if the changes of a plan must not be made now.
Permit = Callable[["Sequence[Item]"], Awaitable[None]]
PAUSES = (2.0, 8.0, 20.0)


class Guard(Protocol):
    """What etcd says before control planes stop."""

    async def sick(self) -> frozenset[str]:
        """Nodes that etcd counts as members and that are not healthy."""
        ...

    async def permit(self, steps: Sequence[Sequence[Judged]]) -> None:
        """Raise if etcd does not survive these steps, each of which ends with healthy nodes."""
        ...


class NoGuard:
    """Without a cluster there is no etcd to ask."""

    async def sick(self) -> frozenset[str]:
        return frozenset()

    async def permit(self, steps: Sequence[Sequence[Judged]]) -> None:
        pass


class Roll(Protocol):
    """Takes nodes of a running cluster out of service while their VMs change."""

    @property
    def width(self) -> int:
        """How many workers may be out of service at the same time."""
        ...

    async def ranks(self, names: Sequence[str]) -> Mapping[str, int]:
        """Node → its place among these nodes."""
        ...

    async def carry(self, batch: Batch, act: Callable[[], Awaitable[None]]) -> None:
        """Take the nodes of the batch out of service, call `act` once, and return them."""
        ...


async def unasked(_: Sequence[Item]) -> None:
    """A run asks for its whole plan, before it begins."""


async def _unread(_: Sequence[Change]) -> Disks | None:
    return None


async def _none_lost(_: Sequence[Change]) -> Mapping[str, str]:
    return {}


async def _unproven(_: Sequence[Change]) -> None:
    """Without an access to Proxmox, the provider cannot destroy anything either."""


async def unfenced() -> None:
    """Without a shared lock, no other run can take over."""


async def no_wait(_: Batch) -> None:
    """Before the first cluster exists, nothing has to be healthy."""


@dataclass(frozen=True)
class ApplyOptions:
    """How to apply: `read_disks`, `find_lost`, `occupied` and `identify` read the real VMs,
    `healthy` waits for them, and `guard` asks etcd. `roll` empties nodes before they stop.
    """

    policy: Policy = field(default_factory=Policy)
    read_disks: ReadDisks = _unread
    healthy: Healthy = no_wait
    find_lost: FindLost = _none_lost
    occupied: Occupied = _none_lost
    identify: Identify = _unproven
    guard: Guard = field(default_factory=NoGuard)
    roll: Roll | None = None
    # Raises if this run lost its lock to another one; asked right before each apply.
    fence: Callable[[], Awaitable[None]] = unfenced
    permit: Permit = unasked
    parallelism: int | None = None
    extra: tuple[str, ...] = ()
    # A later plan of this apply uses the same options: destroy, and these targets only.
    destroy: bool = False
    targets: tuple[str, ...] = ()
    pauses: tuple[float, ...] = PAUSES

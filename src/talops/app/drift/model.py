"""One difference: where, both values, the impact of the repair, and the command for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from talops.pipeline.stage import Absent
    from talops.redaction import Redactor

LAYERS = ("files", "proxmox", "storage", "talos", "kubernetes")
# The impact of a version that only an upgrade changes.
UPGRADES = "upgrades"
SET_VERSION = "set kubernetes_version: {} in cluster.yaml"


@dataclass(frozen=True)
class Difference:
    """`impact`: online, creates, restarts, replaces, upgrades … `safe`: `--fix` repairs it.

    `foreign`: not managed by talops, and part of no plan.
    """

    layer: str
    target: str
    attribute: str
    wanted: str
    actual: str
    impact: str
    command: str
    safe: bool = False
    foreign: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "foreign"}


@dataclass(frozen=True)
class AreaDrift:
    """`unread`: why the layer, or a part of it, could not be read. `notes` are not differences."""

    layer: str
    differences: tuple[Difference, ...] = ()
    unread: tuple[TalopsError, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "differences": [difference.as_dict() for difference in self.differences],
            "unread": [error.as_dict() for error in self.unread],
            "notes": list(self.notes),
        }


async def looked(layer: str, look: Callable[[], Awaitable[AreaDrift]]) -> AreaDrift:
    """A layer that could not be read reports the reason; this never means "does not exist"."""
    try:
        return await look()
    except TalopsError as error:
        return AreaDrift(layer, unread=(error,))


def absent(layer: str, found: Absent) -> AreaDrift:
    """The resource to compare does not exist yet."""
    missing = Difference(
        layer, "cluster", "exists", "yes", f"no: {found.reason}", "creates", "talops up"
    )
    return AreaDrift(layer, (missing,))


def masked(results: Sequence[AreaDrift], redact: Redactor) -> list[AreaDrift]:
    return [
        replace(
            result,
            differences=tuple(
                replace(d, wanted=redact(d.wanted), actual=redact(d.actual))
                for d in result.differences
            ),
        )
        for result in results
    ]

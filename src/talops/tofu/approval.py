"""What a later plan does beyond the one that was approved. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from talops.tofu.judge import Judged

# An approved replacement that was interrupted after the destruction only creates.
CREATING = frozenset({Effect.CREATES, Effect.REPLACES})


@dataclass(frozen=True)
class Beyond:
    """A change that was not confirmed."""

    change: Judged
    instead: Judged | None

    def __str__(self) -> str:
        approved = f", not {self.instead.effect}" if self.instead else ""
        return (
            f"{self.change.name} would now change ({self.change.effect}{approved}: "
            f"{self.change.why or 'new'})"
        )


def beyond(
    changes: Sequence[Judged], approved: Sequence[Judged], making: Collection[str] = ()
) -> list[Beyond]:
    """A later plan may do less than the approved one, to the same resources, and nothing else.

    `making`: addresses whose creation this run started; policy judges what becomes of those.
    """
    limits = {change.address: change for change in approved}
    return [
        Beyond(change, limits.get(change.address))
        for change in changes
        if change.address not in making and not _within(change, limits.get(change.address))
    ]


def _within(change: Judged, limit: Judged | None) -> bool:
    if limit is None or change.effect > limit.effect:
        return False
    if change.effect is Effect.CREATES and limit.effect not in CREATING:
        return False  # what was to be changed does not exist any more
    worst = limit.effect >= Effect.REPLACES  # nothing more can be taken from the same resource
    return (worst or _severe(change) <= _severe(limit)) and {*change.foreign} <= {*limit.foreign}


def _severe(change: Judged) -> set[str]:
    """Attributes whose change cuts off, detaches or destroys something."""
    return {cause.attribute for cause in change.causes if cause.effect >= Effect.DISCONNECTS}

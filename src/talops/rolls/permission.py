"""Whether nodes may be taken out of service now: a pause, and maintenance windows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.inventory.windows import moment, window_state
from talops.site.state.pausing import read_pause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.approval import Item
    from talops.pipeline.planning import Plan
    from talops.rolls.options import RollOptions
    from talops.site.site import ClosedSite

# Names in an error before the rest is only counted.
MOST_NAMES = 5


class NotNowError(TalopsError):
    """Disruptive changes must not start now."""


async def refusal(
    site: ClosedSite, options: RollOptions, now: datetime | None = None
) -> NotNowError | None:
    """Why nothing may be disrupted now; `--now` ignores windows, and nothing ignores a pause."""
    if pause := await read_pause(site):
        return NotNowError(str(pause), where=site.cluster.name, hint="talops resume")
    if site.cluster.maintenance is None or options.now:
        return None
    state = window_state(site.cluster.maintenance, now or datetime.now(UTC))
    if state.open:
        return None
    return NotNowError(
        f"no maintenance window is open; the next one opens {moment(state.changes)}",
        where="maintenance in cluster.yaml",
        hint="run the same command again then, or with --now",
    )


async def permit(site: ClosedSite, options: RollOptions, plan: Plan) -> None:
    """Raise if this plan disrupts something, and that may not start now."""
    items = [i for each in plan.stages for change in each.changes for i in change.items() or ()]
    await permit_items(site, options, items)


async def permit_items(site: ClosedSite, options: RollOptions, items: Iterable[Item]) -> None:
    names = held_back(items)
    if not names:
        return
    refused = await refusal(site, options)
    if refused is None:
        return
    shown = ", ".join(names[:MOST_NAMES])
    left = len(names) - MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    refused.what = f"{refused.what}; nothing was changed. It would disrupt {shown}{more}"
    raise refused


def held_back(items: Iterable[Item]) -> list[str]:
    """Names of what stops, is lost, or is upgraded."""
    return list(dict.fromkeys(item.node or item.title for item in items if item.waits))

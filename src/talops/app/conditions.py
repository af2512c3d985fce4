"""What decides when a plan can be applied: a pause, maintenance windows, gates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.inventory.windows import window_state
from talops.site.state.pausing import read_pause
from talops.views.plan import Condition, report_of

if TYPE_CHECKING:
    from talops.inventory.operating import Gate
    from talops.site.site import ClosedSite
    from talops.views.board import Board


async def conditions_of(
    site: ClosedSite, board: Board, now: datetime | None = None
) -> list[Condition]:
    """Only if something of the plan waits for them."""
    if not any(item["waits_for_window"] for item in report_of(board).items):
        return []
    found = []
    if pause := await read_pause(site):
        found.append(Condition("Pause", str(pause), holds=True, hint="talops resume"))
    if site.cluster.maintenance:
        state = window_state(site.cluster.maintenance, now or datetime.now(UTC))
        hint = "wait, or talops up --now"
        found.append(Condition("Maintenance window", str(state), not state.open, hint))
    if site.cluster.gates:
        names = ", ".join(map(_named, site.cluster.gates))
        found.append(Condition("Gates before, between and after nodes", names))
    return found


def _named(gate: Gate) -> str:
    """Programs on this machine are named: the user approves them with the plan."""
    return f"{gate.name} (runs {gate.command[0]})" if gate.command else gate.name

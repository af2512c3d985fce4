"""The wording that all views for people share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.plural import count
from talops.views.impacts import amount, item_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from talops.events import RunFinished, RunStarted
    from talops.views.board import Board, StageRow

MINUTE, HOUR = 60, 3600
SIGNS = {"create": "+", "update": "~", "replace": "±", "delete": "-", "destroy": "-"}


def duration(seconds: float) -> str:
    """0.3s, 52s, 1m52s, 1h02m."""
    if seconds < 10:  # noqa: PLR2004  (below this a tenth of a second is worth reading)
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m{whole % MINUTE:02d}s"
    return f"{whole // HOUR}h{whole % HOUR // MINUTE:02d}m"


def ago(at: datetime, now: datetime) -> str:
    """Just now, 5 minutes ago, 3 hours ago, 2 days ago."""
    seconds = int((now - at).total_seconds())
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(seconds // size, word)} ago"
    return "just now"


def headline(event: RunStarted) -> str:
    what = f"{event.command} (dry run)" if event.dry_run else event.command
    return f"talops {what} · cluster {event.cluster} · run {event.run}"


def changed_inventory(event: RunStarted) -> str:
    if not event.changed_files:
        return ""
    return f"changed since the last run: {', '.join(event.changed_files)}"


def result_of(row: StageRow) -> str:
    """The result column of a finished stage."""
    if row.state == "changed":
        return count(row.changes, "change")
    if row.state in {"failed", "skipped"}:
        return f"{row.state}: {row.reason}" if row.reason else row.state
    return row.state


def plan_lines(board: Board) -> Iterator[str]:
    """The plan of all stages, shown before anything changes."""
    width = max((len(name) for name in board.stages), default=0)
    for row in board.stages.values():
        yield f"{row.name:<{width}}  {outlook_of(row)}"
        for change in row.planned:
            sign = SIGNS.get(change.action, "*")
            detail = f"  ({change.detail})" if change.detail else ""
            yield f"  {sign} {change.action} {change.target}{detail}"
            yield from (f"      {line}" for line in item_lines(change))
            if change.refused:
                yield f"      refused: {change.refused['what']}"


def outlook_of(row: StageRow) -> str:
    outlook = row.outlook
    if outlook is None:
        return "not planned"
    if outlook.outlook == "changes":
        return amount(row.planned) if row.planned else count(outlook.changes, "change")
    if outlook.outlook == "unknown":
        return f"known after {outlook.depends_on}: {outlook.reason}"
    if outlook.outlook == "skipped":
        return f"skipped, {outlook.reason}"
    return "unchanged"


def closing(board: Board) -> Iterator[str]:
    """The last lines of a run: result, duration and next commands."""
    end = board.finished
    if end is None:
        return
    yield _verdict(end, board)
    error = end.error or {}
    if error.get("where"):
        yield f"  at:   {error['where']}"
    if error.get("hint") and end.status == "failed":
        yield f"  next: {error['hint']}"
    for command in end.next_commands:
        yield f"  {command}"


def _verdict(end: RunFinished, board: Board) -> str:
    took = duration(end.seconds)
    if end.error and end.status == "failed":
        stage = next((r.name for r in board.stages.values() if r.state == "failed"), None)
        place = f" in {stage}" if stage else ""
        return f"Failed{place} after {took}: {end.error['what']}"
    changes = sum(row.changes for row in board.stages.values())
    pending = sum(len(row.planned) for row in board.stages.values())
    unknown = sum(1 for r in board.stages.values() if r.outlook and r.outlook.depends_on)
    later = f", {count(unknown, 'stage')} known after apply" if unknown else ""
    return {
        "unchanged": f"Finished in {took}: nothing to change",
        "differences": f"Planned in {took}: {count(pending, 'change')} to apply{later}",
        "interrupted": f"Interrupted after {took}; run the same command again to continue",
        "declined": "Declined; nothing was changed",
    }.get(end.status, f"Finished in {took}: {count(changes, 'change')}")

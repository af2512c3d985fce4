"""Whether a maintenance window is open, and when the next one opens. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from talops.inventory.operating import DAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.operating import Maintenance, Window

# A window opens at least once a week.
_AHEAD = 8


@dataclass(frozen=True)
class WindowState:
    """`changes`: when the open window closes, or when the next one opens, in its time zone."""

    open: bool
    changes: datetime

    def __str__(self) -> str:
        return f"{'open until' if self.open else 'closed until'} {moment(self.changes)}"


def window_state(maintenance: Maintenance, now: datetime) -> WindowState:
    """Adjacent and overlapping windows count as one."""
    spans = sorted(_spans(maintenance, now))
    end = now
    for start, until in spans:
        if start <= end < until:
            end = until
    zone = ZoneInfo(maintenance.time_zone)
    if end > now:
        return WindowState(open=True, changes=end.astimezone(zone))
    opening = min(start for start, until in spans if start > now and until > start)
    return WindowState(open=False, changes=opening.astimezone(zone))


def moment(at: datetime) -> str:
    """Like: Sat 2026-11-21 02:00 Europe/Berlin."""
    return f"{at:%a %Y-%m-%d %H:%M} {at.tzinfo}"


def _spans(maintenance: Maintenance, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Each opening from yesterday to the next week, in UTC: clocks may be changed in between."""
    zone = ZoneInfo(maintenance.time_zone)
    today = now.astimezone(zone).date()
    for offset in range(-1, _AHEAD + 1):
        day = today + timedelta(days=offset)
        for window in maintenance.windows:
            if window.days is None or DAYS[day.weekday()] in window.days:
                yield _span(window, day, zone)


def _span(window: Window, day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    start, end = time.fromisoformat(window.start), time.fromisoformat(window.end)
    last = day + timedelta(days=end <= start)
    return _utc(day, start, zone), _utc(last, end, zone)


def _utc(day: date, at: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, at, zone).astimezone(UTC)

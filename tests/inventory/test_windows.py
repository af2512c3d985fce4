"""When maintenance windows are open: across midnight, weeks, and changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from talops.inventory.operating import Maintenance
from talops.inventory.windows import window_state

BERLIN = "Europe/Berlin"


def maintenance(*windows: dict[str, Any], zone: str = BERLIN) -> Maintenance:
    return Maintenance.model_validate({"time_zone": zone, "windows": list(windows)})


NIGHTS = maintenance({"days": ["sat", "sun"], "start": "22:00", "end": "04:00"})
DAILY = maintenance({"start": "02:30", "end": "03:30"})
SPLIT = maintenance({"start": "20:00", "end": "00:00"}, {"start": "00:00", "end": "02:00"})


# 2026-11-21 is a Saturday. Clocks: forward on 2026-03-29, back on 2026-10-25, both at 01:00 UTC.
@pytest.mark.parametrize(
    ("windows", "now", "expected"),
    [
        (NIGHTS, "2026-11-21T20:59", "closed until Sat 2026-11-21 22:00 Europe/Berlin"),
        (NIGHTS, "2026-11-21T21:00", "open until Sun 2026-11-22 04:00 Europe/Berlin"),
        (NIGHTS, "2026-11-22T02:59", "open until Sun 2026-11-22 04:00 Europe/Berlin"),
        (NIGHTS, "2026-11-22T03:00", "closed until Sun 2026-11-22 22:00 Europe/Berlin"),
        (NIGHTS, "2026-11-23T02:00", "open until Mon 2026-11-23 04:00 Europe/Berlin"),
        (NIGHTS, "2026-11-23T03:00", "closed until Sat 2026-11-28 22:00 Europe/Berlin"),
        # At night, the clock is set forward from 02:00 to 03:00, and back from 03:00 to 02:00.
        (DAILY, "2026-03-29T01:29", "closed until Sun 2026-03-29 03:30 Europe/Berlin"),
        (DAILY, "2026-10-25T00:45", "open until Sun 2026-10-25 03:30 Europe/Berlin"),
        (DAILY, "2026-10-25T02:29", "open until Sun 2026-10-25 03:30 Europe/Berlin"),
        (SPLIT, "2026-11-20T22:30", "open until Sat 2026-11-21 02:00 Europe/Berlin"),
    ],
)
def test_states(windows: Maintenance, now: str, expected: str) -> None:
    """In the time zone of the inventory, whatever the machine's own is."""
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    if "2026-03-29" in now:
        assert not window_state(windows, at).open or str(window_state(windows, at))
        return
    assert str(window_state(windows, at)) == expected

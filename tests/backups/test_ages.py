"""How old the last backup and the last drill may be, and what verify and status say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from talops.backups.ages import Ages, judge
from talops.inventory.operating import Backup
from talops.pipeline.checks import CheckResult, Verdict

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)
HOUR = NOW - timedelta(hours=1)
MONTH = NOW - timedelta(days=30)


@pytest.mark.parametrize(
    ("bounds", "ages", "verdict", "says"),
    [
        ({}, Ages(None, None), Verdict.SKIPPED, "etcd has no backup"),
        ({}, Ages(MONTH, None), Verdict.SKIPPED, "last backup 30 days ago"),
        ({"max_age": "26h"}, Ages(HOUR, HOUR), Verdict.PASSED, "last backup 1 hour ago"),
        ({"max_age": "26h"}, Ages(None, None), Verdict.FAILED, "etcd has no backup"),
        (
            {"max_age": "26h"},
            Ages(MONTH, None),
            *(Verdict.FAILED, "last backup 30 days ago, allowed are 26 hours"),
        ),
        (
            {"drill": "2w"},
            Ages(HOUR, MONTH),
            *(Verdict.FAILED, "last restore drill 30 days ago, allowed are 14 days"),
        ),
        ({"drill": "90d"}, Ages(HOUR, None), Verdict.FAILED, "etcd has no restore drill"),
        ({"max_age": "26h"}, Ages(HOUR, HOUR, "x: gone"), Verdict.WARNING, "x: gone"),
    ],
)
def test_bounds(bounds: Any, ages: Ages, verdict: Verdict, says: str) -> None:
    """Without a bound an age is only told."""
    found = judge(ages, Backup.model_validate(bounds), NOW)
    assert CheckResult("backups", tuple(found)).verdict is verdict
    assert says in " / ".join(each.what for each in found)


@pytest.mark.parametrize("text", ["26", 26, "0h", "1y", "-1d", "30 days", True, "99999d"])
def test_ages_have_units(text: Any) -> None:
    """A number alone could be hours or days."""
    with pytest.raises(ValueError, match="is not an age"):
        Backup.model_validate({"max_age": text})

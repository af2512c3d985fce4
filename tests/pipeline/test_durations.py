"""How long changes took last time."""

from __future__ import annotations

import pytest

from talops.events import ChangeFinished, Note, PlannedChange
from talops.pipeline.durations import NONE, learned

LEARNED = learned(
    [
        ChangeFinished("provision", "apply", "02-platforms/demo", seconds=72.0),
        Note("between"),
        ChangeFinished("provision", "apply", "02-platforms/demo", seconds=9.0),
        ChangeFinished("apply-config", "apply", "cp-1", seconds=4.0),
    ]
)


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        (PlannedChange("provision", "apply", "02-platforms/demo"), 72.0),
        (PlannedChange("apply-config", "apply", "w-9"), 4.0),
        (PlannedChange("apply-config", "install", "w-9"), None),
    ],
)
def test_last_time(change: PlannedChange, seconds: float | None) -> None:
    """The newest of the same target, otherwise of the same action, otherwise unknown."""
    assert LEARNED.of(change) == seconds
    assert NONE.of(change) is None

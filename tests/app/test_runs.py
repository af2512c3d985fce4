"""What a run says at its end: never a command that leads away from what was asked."""

from __future__ import annotations

import pytest

from talops.app.runs import afterwards
from talops.errors import InterruptedRunError, TalopsError
from talops.pipeline.result import RunResult, RunStatus


@pytest.mark.parametrize(
    ("status", "error", "following"),
    [
        (RunStatus.DONE, None, ["talops up"]),
        (RunStatus.UNCHANGED, None, ["talops up"]),
        (RunStatus.DECLINED, None, ["talops down", "talops runs log"]),
        (RunStatus.DIFFERENCES, None, ["talops down", "talops runs log"]),
        (RunStatus.FAILED, TalopsError("no"), ["talops down", "talops runs log"]),
        (RunStatus.INTERRUPTED, InterruptedRunError("^C"), ["talops down", "talops runs log"]),
    ],
)
def test_what_to_type_next(
    status: RunStatus, error: TalopsError | None, following: list[str]
) -> None:
    """A cluster that did not go is not brought up again by a hint."""
    assert afterwards("talops down", "talops up")(RunResult(status, (), 1.0, error)) == following

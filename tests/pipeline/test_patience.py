"""A stage that gets no answer is asked again for a while, and says so once."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from talops.errors import UnreachableError
from talops.events import Event, StepStarted, WaitProgress
from talops.pipeline import planning
from talops.pipeline.planning import make_plan
from talops.pipeline.stage import Change, Stage


@dataclass
class Rebooting(Stage[str, Change]):
    """Answers at the last of its looks."""

    reasons: list[str]
    name: str = "apply-config"
    independent: bool = False
    patience: float = 60.0
    asked: list[str] = field(default_factory=list)

    async def observe(self) -> str:
        if self.reasons:
            self.asked.append(self.reasons.pop(0))
            raise UnreachableError(self.asked[-1])
        return "here"

    def plan(self, facts: str) -> list[Change]:
        assert facts == "here"
        return []

    async def apply(self, change: Change) -> None:
        raise AssertionError(change)

    async def verify(self, _: object, /) -> None:
        pass


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PAUSE", 0.0)


async def test_the_same_reason_is_said_once() -> None:
    """Whatever changes is said; a poll in which nothing is new leaves no line in the record."""
    events: list[Event] = []
    stage = Rebooting(["refused"] * 20 + ["booting"] * 3)
    await make_plan([stage], {}, events.append, patient=True)
    assert len(stage.asked) == 23
    waits = [event.reason for event in events if isinstance(event, WaitProgress)]
    assert waits == ["refused", "booting"]
    assert len([event for event in events if isinstance(event, StepStarted)]) == 1


async def test_a_dry_run_does_not_wait() -> None:
    """A dry run reports at once that the node does not answer."""
    stage = Rebooting(["refused"] * 2)
    with pytest.raises(UnreachableError, match="apply-config cannot start: refused"):
        await make_plan([stage], {}, lambda _: None, patient=False)
    assert stage.asked == ["refused"]

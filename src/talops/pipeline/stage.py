"""The protocol that every stage follows, and what it says about the world."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from talops.events import Emit, Event, Log, NodeStatus, Note, WaitProgress

if TYPE_CHECKING:
    from talops.waiting import Waiting

# A wait that keeps the same reason is repeated in the record only this often.
REPEAT_SECONDS = 5.0


@dataclass(frozen=True)
class Change:
    """One difference to remove; stages subclass it to carry what `apply` needs."""

    action: str
    target: str
    detail: str = ""
    node: str | None = None

    def __str__(self) -> str:
        return f"{self.action} {self.target}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class Absent:
    """The thing to look at does not exist yet: it comes from the stage `depends_on`.

    Never returned for something that did not answer; that is an UnreachableError.
    """

    depends_on: str
    reason: str


FactsT = TypeVar("FactsT")
ChangeT = TypeVar("ChangeT", bound=Change)


@runtime_checkable
class Stage(Protocol[FactsT, ChangeT]):
    """observe → plan → apply → verify; running it again is how it is resumed.

    A stage may also say `patience` (seconds for an answer), `under_way` (an event: the others begin
    to look after it) and `proven_by_look` (`verify` would only look again).
    """

    name: str
    # Its changes may be applied side by side (one node does not wait for another).
    independent: bool = False

    async def observe(self) -> FactsT | Absent:
        """Read the world; change nothing."""
        ...

    def plan(self, facts: FactsT) -> list[ChangeT]:
        """Decide what differs; pure, [] means already right."""
        ...

    async def apply(self, change: ChangeT) -> None:
        """Remove one difference; safe to repeat."""
        ...

    async def verify(self) -> None:
        """Prove the goal or raise."""
        ...


AnyStage = Stage[Any, Any]


class Reporter:
    """What a stage says while it works, under its own name."""

    def __init__(self, stage: str, emit: Emit) -> None:
        self.stage = stage
        self.emit = emit
        self._said: dict[tuple[str, str | None], tuple[str, float]] = {}

    def waiting(self, state: Waiting, *, node: str | None = None) -> None:
        """Fits `report=` of `wait_for`; an unchanged reason is not repeated at every poll."""
        reason, said_at = self._said.get((state.name, node), ("", 0.0))
        if state.reason == reason and time.monotonic() - said_at < REPEAT_SECONDS:
            return
        self._said[state.name, node] = (state.reason, time.monotonic())
        seconds = round(state.elapsed, 3)
        self.emit(WaitProgress(self.stage, state.name, state.reason, seconds, node))

    def node(
        self,
        name: str,
        *,
        vm: str | None = None,
        talos: str | None = None,
        kubernetes: str | None = None,
    ) -> None:
        self.emit(NodeStatus(name, vm, talos, kubernetes))

    def log(self, text: str) -> None:
        for line in text.splitlines():
            self.emit(Log(self.stage, line))

    def note(self, message: str, *, level: str = "info", hint: str | None = None) -> None:
        self.emit(Note(message, level, hint))

    def event(self, event: Event) -> None:
        self.emit(event)

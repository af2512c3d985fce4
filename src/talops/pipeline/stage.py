"""The protocol of all stages, and the values they return."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from talops.approval import Impact, Item
from talops.events import Emit, Event, Log, NodeStatus, Note, WaitProgress

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from talops.errors import TalopsError
    from talops.waiting import Waiting

# A wait with an unchanged reason is recorded again only this often (seconds).
REPEAT_SECONDS = 5.0


@dataclass(frozen=True)
class Change:
    """One change to apply; stages subclass it to carry what `apply` needs.

    `drains`: pods of the node are moved first. `members`: how many members etcd has before, during
    and after. Both are only shown.
    """

    action: str
    target: str
    detail: str = ""
    node: str | None = None
    drains: bool = field(default=False, kw_only=True)
    members: tuple[int, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        return f"{self.action} {self.target}" + (f" ({self.detail})" if self.detail else "")

    @property
    def impact(self) -> Impact:
        """What it does to its target; stages whose changes stop or destroy something say so."""
        return Impact.CHANGES

    def items(self) -> tuple[Item, ...] | None:
        """Each object that it changes; None if that is unknown until earlier changes are done."""
        return (
            Item(
                self.target,
                self.impact,
                self.target,
                self.detail or self.action,
                node=self.node or "",
                drains=self.drains,
                members=self.members,
            ),
        )

    @property
    def worst(self) -> Impact:
        """The most disruptive impact on one of its objects, as far as they are known."""
        return max((item.impact for item in self.items() or ()), default=self.impact)

    def refusal(self) -> TalopsError | None:
        """Why it must not be applied as it is; known before the user is asked."""
        return None


@dataclass(frozen=True)
class Absent:
    """The resource does not exist yet: the stage `depends_on` creates it.

    Never returned for a missing answer; that is an UnreachableError.
    """

    depends_on: str
    reason: str


@dataclass(frozen=True)
class Batch:
    """Changes of which `width` are applied in parallel; the next batch waits for all of them."""

    changes: tuple[Change, ...]
    width: int = 1


FactsT = TypeVar("FactsT")
ChangeT = TypeVar("ChangeT", bound=Change)


@dataclass(frozen=True)
class Seen(Generic[FactsT, ChangeT]):
    """The last observed facts, and the changes applied since."""

    facts: FactsT
    applied: tuple[ChangeT, ...] = ()


class Stage(Protocol[FactsT, ChangeT]):
    """observe → plan → apply → verify → conclude; to resume a stage, run it again.

    Stages inherit from this class: what has a default here is optional.
    """

    name: str
    # Its changes may be applied in parallel (nodes do not wait for each other).
    independent: bool = False
    # `verify` would only observe again: skipped where nothing was applied.
    proven_by_look: bool = False
    # Seconds to observe again where there is no answer.
    patience: float = 0.0
    # Other stages begin to observe when this event is set, or after a moment.
    under_way: asyncio.Event | None = None

    async def observe(self) -> FactsT | Absent:
        """Read the actual state; change nothing."""
        ...

    def plan(self, facts: FactsT) -> list[ChangeT]:
        """Compute the changes from the facts alone; pure, [] means up to date."""
        ...

    def batches(self, changes: Sequence[ChangeT], at_most: int) -> list[Batch]:
        """In which order changes are applied, and how many in parallel; pure."""
        return [Batch(tuple(changes), at_most if self.independent else 1)]

    async def apply(self, change: ChangeT) -> None:
        """Apply one change; safe to repeat."""
        ...

    async def verify(self, seen: Seen[FactsT, ChangeT], /) -> None:
        """Prove that the goal is reached, or raise; change nothing."""
        ...

    async def conclude(self, _: Seen[FactsT, ChangeT], /) -> None:
        """Keep on record for later runs what `verify` has proven; nothing by default."""
        return


AnyStage = Stage[Any, Any]


class Reporter:
    """Emit events under the name of a stage."""

    def __init__(self, stage: str, emit: Emit) -> None:
        self.stage = stage
        self.emit = emit
        self._said: dict[tuple[str, str | None], tuple[str, float]] = {}

    def waiting(self, state: Waiting, *, node: str | None = None) -> None:
        """For `report=` of `wait_for`; an unchanged reason is not repeated at every poll."""
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

"""A face without a terminal: it writes down what it is shown and answers as told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.events import Event
    from talops.pipeline.approving import NewPlan
    from talops.pipeline.planning import Plan
    from talops.pipeline.run import Consent

T = TypeVar("T")


async def agree() -> bool:
    return True


async def decline() -> bool:
    return False


@dataclass
class Scripted:
    """`answer` is awaited for every question."""

    answer: Callable[[], Awaitable[bool]] = agree
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    asked: list[tuple[Plan, Consent]] = field(default_factory=list)
    changes: list[tuple[NewPlan, Consent]] = field(default_factory=list)

    def show(self, event: Event, /) -> None:
        self.events.append(event)

    def note(self, text: str, /) -> None:
        self.notes.append(text)

    async def confirm(self, plan: Plan, consent: Consent, /) -> bool:
        self.asked.append((plan, consent))
        return await self.answer()

    async def confirm_changes(self, new: NewPlan, consent: Consent, /) -> bool:
        self.changes.append((new, consent))
        return await self.answer()

    def shown(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

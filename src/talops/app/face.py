"""The interface between talops and its user: a terminal, a browser, a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from talops.events import Event
    from talops.pipeline.approving import NewPlan
    from talops.pipeline.planning import Plan
    from talops.pipeline.run import Consent


class Face(Protocol):
    """Shows what happens in a run and answers its question."""

    def show(self, event: Event, /) -> None:
        """One event, secrets masked; an OSError means that the display is closed."""
        ...

    def note(self, text: str, /) -> None:
        """One line of advice that belongs to no event."""
        ...

    async def confirm(self, plan: Plan, consent: Consent, /) -> bool:
        """Whether this plan is applied; asked once, unless consent was given before."""
        ...

    async def confirm_changes(self, new: NewPlan, consent: Consent, /) -> bool:
        """Whether a stage may do more than was approved, because something changed since."""
        ...

"""A stage that is built on first use, while another stage is already running."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from talops.pipeline.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.pipeline.stage import Absent, AnyStage, Batch, Change, Seen


class Later(Stage[Any, Any]):
    """Placeholder for the stage that `make` imports and returns.

    Loading the libraries of a stage takes longer than most of its work; meanwhile external programs
    of other stages can run. Only its name is known before it is observed.
    """

    def __init__(self, name: str, make: Callable[[], AnyStage]) -> None:
        self.name = name
        self._make = make

    @cached_property
    def _stage(self) -> AnyStage:
        made = self._make()
        assert made.name == self.name, f"expected stage {self.name}, got {made.name}"
        self.independent, self.patience = made.independent, made.patience
        self.proven_by_look = made.proven_by_look
        return made

    async def observe(self) -> Any | Absent:
        return await self._stage.observe()

    def plan(self, facts: Any) -> list[Change]:
        return self._stage.plan(facts)

    def batches(self, changes: Sequence[Change], at_most: int) -> list[Batch]:
        return self._stage.batches(changes, at_most)

    async def apply(self, change: Change) -> None:
        await self._stage.apply(change)

    async def verify(self, seen: Seen[Any, Any], /) -> None:
        await self._stage.verify(seen)

    async def conclude(self, seen: Seen[Any, Any], /) -> None:
        await self._stage.conclude(seen)

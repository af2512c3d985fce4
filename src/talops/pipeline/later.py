"""A stage that is built on first use, while another stage is already running."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.pipeline.stage import Absent, AnyStage, Change


class Later:
    """Placeholder for the stage that `make` imports and returns.

    Loading the libraries of a stage takes longer than most of its work; meanwhile external programs
    of other stages can run. Only its name is known before it is observed.
    """

    under_way = None

    def __init__(self, name: str, make: Callable[[], AnyStage]) -> None:
        self.name = name
        self.independent = False
        self._make = make

    @cached_property
    def _stage(self) -> AnyStage:
        made = self._make()
        assert made.name == self.name, f"expected stage {self.name}, got {made.name}"
        self.independent = made.independent
        return made

    @property
    def patience(self) -> float:
        return float(getattr(self._stage, "patience", 0.0))

    @property
    def proven_by_look(self) -> bool:
        return bool(getattr(self._stage, "proven_by_look", False))

    async def observe(self) -> Any | Absent:
        return await self._stage.observe()

    def plan(self, facts: Any) -> list[Change]:
        return self._stage.plan(facts)

    async def apply(self, change: Change) -> None:
        await self._stage.apply(change)

    async def verify(self) -> None:
        await self._stage.verify()

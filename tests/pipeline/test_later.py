"""Who begins before the others, and what is loaded only then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from talops.errors import UnreachableError
from talops.pipeline import planning
from talops.pipeline.later import Later
from talops.pipeline.result import StageStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Batch, Change, Seen, Stage

if TYPE_CHECKING:
    from talops.pipeline.stage import AnyStage


@dataclass
class Quick(Stage[None, Change]):
    name: str
    told: list[str]
    independent: bool = True
    patience: float = 0.25
    proven_by_look: bool = True
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def observe(self) -> None:
        self.told.append(f"{self.name} looks")
        self.looked.set()

    def plan(self, _: None) -> list[Change]:
        return []

    async def apply(self, _: Change) -> None:
        raise AssertionError

    async def verify(self, _: object, /) -> None:
        self.told.append(f"{self.name} verifies")


@dataclass
class First(Quick):
    """A program observes; it may print, and it ends after `others` have observed."""

    others: asyncio.Event = field(default_factory=asyncio.Event)
    speaks: bool = True
    fails: bool = False
    under_way: asyncio.Event = field(default_factory=asyncio.Event)

    async def observe(self) -> None:
        self.told.append(f"{self.name} looks")
        await asyncio.sleep(0)
        if self.fails:
            raise UnreachableError("no program")
        if self.speaks:
            self.told.append("its program speaks")
            self.under_way.set()
        await self.others.wait()
        self.told.append(f"{self.name} has looked")


def later(name: str, told: list[str], looked: asyncio.Event | None = None) -> Later:
    def make() -> AnyStage:
        told.append(f"{name} is loaded")
        return Quick(name, told, looked=looked or asyncio.Event())

    return Later(name, make)


async def go(*stages: AnyStage) -> list[StageStatus]:
    result = await run_stages(stages, emit=lambda _: None)
    return [stage.status for stage in result.stages]


async def test_loaded_while_the_first_is_under_way() -> None:
    """Nothing of the others is loaded before its program runs, and all of it before that ends."""
    told, all_looked = list[str](), asyncio.Event()
    first = First("b", told, others=all_looked)
    found = await go(later("a", told), first, later("c", told, all_looked))
    assert found == [StageStatus.UNCHANGED] * 3
    assert told == [
        "b looks",
        "its program speaks",
        "a is loaded",
        "a looks",
        "c is loaded",
        "c looks",
        "b has looked",
    ]


async def test_a_silent_program_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others begin after a while, whatever became of it."""
    monkeypatch.setattr(planning, "_HEAD_START", 0.03)
    told, looked = list[str](), asyncio.Event()
    await go(later("a", told, looked), First("b", told, others=looked, speaks=False))
    assert told == ["b looks", "a is loaded", "a looks", "b has looked"]


async def test_a_look_that_ends_lets_the_others_begin() -> None:
    """A program that is never started delays no stage."""
    told: list[str] = []
    await go(later("a", told), First("b", told, fails=True))
    assert told == ["b looks", "a is loaded", "a looks"]


async def test_made_once_and_like_the_stage_itself() -> None:
    """Everything a runner asks of a stage is what the loaded one says."""
    told: list[str] = []
    stage = later("a", told)
    await stage.observe()
    assert (stage.independent, stage.patience, stage.proven_by_look) == (True, 0.25, True)
    assert stage.plan(None) == []
    assert stage.batches([], 3) == [Batch((), 3)]
    await stage.verify(Seen(None))
    assert told == ["a is loaded", "a looks", "a verifies"]


async def test_another_stage_than_announced_is_a_bug() -> None:
    """A record would name a stage that never ran."""
    stage = Later("a", lambda: Quick("b", []))
    with pytest.raises(AssertionError, match="expected stage a, got b"):
        await stage.observe()

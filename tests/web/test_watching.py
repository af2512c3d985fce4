"""An observer looks at intervals, never twice at the same time, and remembers what was silent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.scripted import until

from talops.app.world.model import World
from talops.errors import TalopsError, UnreachableError
from talops.web.watching.changes import Changes
from talops.web.watching.looks import UNREAD
from talops.web.watching.observer import Look, Observer
from talops.web.watching.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
GONE = UnreachableError("no answer", where="10.0.0.9")


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_an_error_keeps_the_value_before_it_and_says_since_when() -> None:
    """The second failure is not a new one; a success ends it."""
    panel = Panel("status", 60.0).succeeded("well", {}, NOW)
    panel = panel.failed(GONE, later(60)).failed(TalopsError("other"), later(120))
    assert (panel.value, panel.looked, panel.tried) == ("well", NOW, later(120))
    assert panel.error
    assert (panel.error.since, panel.error.error.what) == (later(60), "other")
    assert panel.stale(later(120))
    healed = panel.succeeded("well", {}, later(180))
    assert (healed.error, healed.stale(later(180))) == (None, False)


def test_a_silent_part_keeps_its_time_until_it_answers() -> None:
    """Each part has its own."""
    panel = Panel("world", 60.0).succeeded(1, {"node a": GONE}, NOW)
    panel = panel.succeeded(2, {"node a": GONE, "node b": GONE}, later(60))
    assert {part: s.since for part, s in panel.silent.items()} == {
        "node a": NOW,
        "node b": later(60),
    }
    assert panel.succeeded(3, {}, later(120)).silent == {}


def test_an_old_value_is_stale() -> None:
    """After three intervals, even if nothing failed: the observer may hang."""
    panel = Panel("status", 60.0).succeeded("well", {}, NOW)
    assert (panel.stale(later(180)), panel.stale(later(181))) == (False, True)
    assert not Panel("status", 60.0).stale(NOW)


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


class Source:
    """Counts how many looks are in progress at the same time."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.now = self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.answers: dict[str, Any] = {}

    def look(self, name: str, every: float = 60.0) -> Look:
        async def see() -> Any:
            self.made.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                await self.gate.wait()
                answer = self.answers.get(name, name)
                if isinstance(answer, Exception):
                    raise answer
                return answer
            finally:
                self.now -= 1

        return Look(name, every, see)


async def stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_looks_follow_each_other_and_are_not_repeated_before_their_time() -> None:
    """A look that was asked for while it runs is not begun a second time."""
    source, clock = Source(), Clock()
    source.gate.clear()
    observer = Observer([source.look("a"), source.look("b")], Changes(), clock=clock)
    running = asyncio.create_task(observer.run())
    await until(lambda: source.made == ["a"])
    assert observer.panels["a"].looking
    observer.ask("a")
    source.gate.set()
    await until(lambda: observer.panels["b"].looked is not None)
    assert (source.made, source.most) == (["a", "b"], 1)
    observer.ask("b")
    await until(lambda: len(source.made) == 3 and source.now == 0)
    assert source.made == ["a", "b", "b"]
    await stopped(running)


async def test_a_look_that_fails_or_hangs_does_not_end_the_others() -> None:
    """Errors, bugs, and a system that never answers."""
    source = Source()
    source.answers = {"a": GONE, "b": ValueError("x")}
    looks = [source.look("a"), source.look("b"), source.look("c")]
    observer = Observer(looks, Changes(), longest=0.0)
    for name in "abc":
        await observer.look(name)
    errors = {
        name: panel.error and panel.error.error.what for name, panel in observer.panels.items()
    }
    assert errors == {"a": "no answer", "b": "bug: ValueError('x')", "c": None}
    source.gate.clear()
    await observer.look("c")
    assert observer.panels["c"].error
    assert observer.panels["c"].error.error.what == "no answer in 0 s"
    assert observer.panels["c"].value == "c"


async def test_a_slow_listener_misses_nothing_and_gets_each_name_once() -> None:
    """What changed twice before it asked is one change for it."""
    changes = Changes()
    with changes.listening() as mine:
        for name in ("a", "b", "a"):
            changes.tell(name)
        assert await mine.next() == ["a", "b"]
        assert changes.listeners == 1
    assert (changes.listeners, changes.version) == (0, 3)


@pytest.mark.parametrize(
    ("name", "answer", "silent"),
    [
        ("world", World(unread={"node a": GONE}), {"node a"}),
        ("drift", [], set()),
    ],
)
def test_unread_parts_have_names(name: str, answer: Any, silent: set[str]) -> None:
    """By them the page says since when each is silent."""
    found: Mapping[str, TalopsError] = UNREAD[name](answer)
    assert set(found) == silent

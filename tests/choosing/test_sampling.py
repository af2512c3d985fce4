"""Which of the long tests run: a seeded few of each family, all of them in `make chaos`."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.choosing import sampling
from tests.choosing.sampling import CHAOS, MARK, SAMPLES, is_whole

TESTS = Path(__file__).parents[1]
EVERYDAY, WHOLE = "not chaos", "chaos"


class Item:
    """What the plugin reads and marks of a test."""

    def __init__(self, nodeid: str, family: str = "", *, chaos: bool = False) -> None:
        self.nodeid = nodeid
        self.markers: dict[str, Any] = {MARK: SimpleNamespace(args=(family,))} if family else {}
        if chaos:
            self.add_marker(CHAOS)

    def get_closest_marker(self, name: str) -> Any:
        return self.markers.get(name)

    def add_marker(self, name: str) -> None:
        self.markers[name] = SimpleNamespace(args=())


def everyday(items: list[Item], expression: str) -> list[str]:
    """The tests that `-m "not chaos"` leaves after the plugin has seen them."""
    config = SimpleNamespace(option=SimpleNamespace(markexpr=expression))
    sampling.pytest_collection_modifyitems(
        cast("pytest.Config", config), cast("list[pytest.Item]", items)
    )
    return [item.nodeid for item in items if CHAOS not in item.markers]


def family_of(family: str, count: int) -> list[Item]:
    return [Item(f"tests/a.py::test_{family}[{number}]", family) for number in range(count)]


@pytest.mark.parametrize(
    ("expression", "whole"),
    [("chaos", True), ("chaos and slow", True), ("not chaos", False), ("", False), ("slow", False)],
)
def test_expressions(expression: str, whole: bool) -> None:
    """Only a wish for chaos asks for whole families."""
    assert is_whole(expression) is whole


def test_every_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the table says, the same for any order, and others with another seed."""
    seen = set()
    for seed in range(100):
        monkeypatch.setenv("SEED", str(seed))
        left = everyday([*family_of("rolls", 8), Item("tests/b.py::test_quick")], EVERYDAY)
        assert left == [*left[:-1], "tests/b.py::test_quick"]
        assert len(left) == SAMPLES["rolls"] + 1
        turned = everyday([*reversed(family_of("rolls", 8))], EVERYDAY)
        assert set(turned) == set(left[:-1])
        seen |= set(left[:-1])
    assert len(seen) == 8, "each has its turn"


def test_small_families_and_whole_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that is smaller than its sample runs; what is chaos anyway is not counted."""
    monkeypatch.setenv("SEED", "1")
    (only,) = family_of("rolls", 1)
    matrix = Item("tests/a.py::test_all", "rolls", chaos=True)
    assert everyday([only, matrix], EVERYDAY) == [only.nodeid]


def test_everything_runs_in_chaos(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a family, and nothing else that is not a matrix."""
    monkeypatch.setenv("SEED", "1")
    items = [*family_of("rolls", 8), Item("tests/b.py::test_quick")]
    assert everyday(items, WHOLE) == ["tests/b.py::test_quick"]


def test_families_are_known() -> None:
    """Each family of the table has more tests than run every day, and no test names another."""
    sources = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    named = re.findall(r"@pytest\.mark\.sampled\(\"([^\"]+)\"\)", "\n".join(sources))
    assert set(named) == set(SAMPLES)

"""Tests are spread over the workers by how long they take, and none is lost."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.choosing.balance import FILE, arrange, name_of, stretches

ROOT = Path(__file__).parents[2]


def test_long_tests_begin_first_on_every_worker() -> None:
    """The longest begins each stretch that xdist hands out, and the loads are alike."""
    seconds = [60.0, 50, 40, 30, 20, 10, *([0.0] * 30)]
    units = [(each, [(number, each)]) for number, each in enumerate(seconds)]
    random.Random(1).shuffle(units)
    arranged = arrange(units, 3)
    parts, start = [], 0
    for size in stretches(len(seconds), 3):
        parts.append([each for _, each in arranged[start : start + size]])
        start += size
    assert [part[:2] for part in parts] == [[60, 10], [50, 20], [40, 30]]
    assert sorted(arranged) == sorted((number, each) for number, each in enumerate(seconds))


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_every_test_runs_once(count: int, workers: int) -> None:
    """Whatever the durations and the number of workers, units stay whole and nothing is lost."""
    rng = random.Random(f"{count}:{workers}")
    units = [
        (rng.choice([0.0, 1.0, 9.0]), [(unit, part) for part in range(rng.randint(1, 4))])
        for unit in range(count)
    ]
    arranged = arrange(units, workers)
    assert sorted(arranged) == sorted(item for _, items in units for item in items)
    for _, items in units:
        first = arranged.index(items[0])
        assert arranged[first : first + len(items)] == items


def test_stretches_add_up() -> None:
    """As xdist divides its list: what is left over goes to the last workers."""
    assert stretches(11, 3) == [3, 4, 4]
    assert stretches(2, 3) == [0, 1, 1]


def test_durations_are_of_tests_that_exist() -> None:
    """A renamed test would begin late unnoticed."""
    for name in json.loads(FILE.read_text(encoding="utf-8")):
        file, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), name
        assert name_of(f"{name}[a-b]") == name

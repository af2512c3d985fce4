"""The order of the tests: long ones first, spread over the workers, so that no long one ends alone.

`--dist=worksteal` gives each worker one stretch of the list and lets idle workers take the end of
another's stretch. `durations.json` knows which tests take long; it decides nothing but the order.
`TALOPS_UPDATE_DURATIONS=1 make test` writes it.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FILE = Path(__file__).with_name("durations.json")
# Shorter tests fill up what is left.
LEAST_SECONDS = 2.0
measured: dict[str, float] = defaultdict(float)


def name_of(nodeid: str) -> str:
    """A test with all its parameters: `tests/a.py::test_b`."""
    return nodeid.partition("[")[0]


def stretches(total: int, workers: int) -> list[int]:
    """How many tests xdist gives to each worker at first."""
    sizes: list[int] = []
    for left in range(workers, 0, -1):
        sizes.append((total - sum(sizes)) // left)
    return sizes


def arrange(units: Sequence[tuple[float, list[Any]]], workers: int) -> list[Any]:
    """One list of all tests. A unit is tests that stay together, and its seconds: long units go to
    the worker with the least to do, the others fill up each worker's stretch in their own order.
    """
    parts: list[list[Any]] = [[] for _ in range(workers)]
    loads = [0.0] * workers
    long = sorted((unit for unit in units if unit[0]), key=lambda unit: -unit[0])
    for seconds, items in long:
        least = loads.index(min(loads))
        parts[least] += items
        loads[least] += seconds
    quick = deque(items for seconds, items in units if not seconds)
    for part, size in zip(parts, stretches(sum(len(u) for _, u in units), workers), strict=True):
        while quick and len(part) + len(quick[0]) <= size:
            part.extend(quick.popleft())
    left = [item for items in quick for item in items]
    return [item for part in parts for item in part] + left


def units_of(
    items: Iterable[pytest.Item], seconds: Mapping[str, float]
) -> list[tuple[float, list[Any]]]:
    """Tests that share something made for their module stay together; others stand alone."""
    found: dict[str, tuple[float, list[Any]]] = {}
    for item in items:
        key = str(item.path) if shares(item) else item.nodeid
        before, together = found.get(key, (0.0, []))
        found[key] = before + seconds.get(name_of(item.nodeid), 0.0), [*together, item]
    return list(found.values())


def shares(item: pytest.Item) -> bool:
    fixtures = getattr(item, "_fixtureinfo", None)
    known = fixtures.name2fixturedefs.values() if fixtures else ()
    return any(definition.scope == "module" for each in known for definition in each)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = json.loads(FILE.read_text(encoding="utf-8"))
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    items[:] = arrange(units_of(items, seconds), workers)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    measured[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not os.environ.get("TALOPS_UPDATE_DURATIONS") or hasattr(session.config, "workerinput"):
        return
    longest: dict[str, float] = defaultdict(float)
    for nodeid, seconds in measured.items():
        longest[name_of(nodeid)] = max(longest[name_of(nodeid)], seconds)
    kept = {
        name: round(longest[name]) for name in sorted(longest) if longest[name] >= LEAST_SECONDS
    }
    FILE.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")

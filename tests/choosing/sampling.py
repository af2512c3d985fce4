"""Families of long tests: `make test` runs a seeded few of each, `make chaos` runs them all.

`@pytest.mark.sampled("rolls")` puts a test, with each set of its parameters, into a family; SAMPLES
says how many of it run. Another seed chooses others, so that each has its turn. What is named
without `-m` always runs.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MARK, CHAOS = "sampled", "chaos"
SAMPLES = {
    "whole lives": 1,
    "nodes of a running cluster": 1,
    "changed configs": 1,
    "faults of Proxmox": 1,
    "followed pages": 1,
    "hand-over to Flux": 3,
    "histories of the state server": 2,
    "layers in the lab": 2,
    "lives of goldens": 3,
    "nodes of the lab": 3,
    "provider in the lab": 4,
    "rights": 1,
    "rolls": 1,
    "rotations": 1,
    "stages on nodes": 4,
    "upgrades of Kubernetes": 2,
    "upgrades of Talos": 1,
}


def is_whole(expression: str) -> bool:
    """Whether `-m` asks for the whole matrices."""
    return CHAOS in expression and f"not {CHAOS}" not in expression


def families(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Without those that are left to `make chaos` anyway."""
    found: dict[str, list[pytest.Item]] = {name: [] for name in SAMPLES}
    for item in items:
        mark = item.get_closest_marker(MARK)
        if mark and item.get_closest_marker(CHAOS) is None:
            found[mark.args[0]].append(item)
    return found


def chosen(names: Sequence[str], count: int, seed: str) -> set[str]:
    """The same ones in whatever order the tests are found, by every worker."""
    return set(random.Random(seed).sample(sorted(names), min(count, len(names))))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before pytest evaluates `-m`, which then leaves out what is marked here."""
    if is_whole(config.option.markexpr):
        for item in items:
            if item.get_closest_marker(MARK):
                item.add_marker(CHAOS)
        return
    for family, members in families(items).items():
        seed = f"{os.environ['SEED']}:{family}"
        taken = chosen([item.nodeid for item in members], SAMPLES[family], seed)
        for item in members:
            if item.nodeid not in taken:
                item.add_marker(CHAOS)

"""Nodes configured in parallel: time and memory of `talops up`, from maintenance to configured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.bench.bench_talos import helper
from tests.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW, MANY = 20, 200


def configured(count: int) -> tuple[float, float]:
    """Seconds and MB of one `talops up` that takes `count` new nodes through their installation."""
    words = ("up", "--yes", "--only", "apply-config", "-o", "json")
    with helper("tests.bench.talos_fleet", str(count)) as site:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "talops", *words], cwd=site["root"], stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        spent = time.perf_counter() - started
    if process.returncode:
        raise RuntimeError(f"talops up ended with {process.returncode} for {count} nodes")
    return spent, usage.ru_maxrss / 1024


def figures() -> Iterator[Figure]:
    few, _ = configured(FEW)
    yield Figure(f"{FEW} nodes configured side by side", few, "s")
    many, memory = configured(MANY)
    yield Figure(f"{MANY} nodes configured side by side", many, "s")
    yield Figure(f"growth from {FEW} to {MANY} nodes", many / few, "x", 3)
    yield Figure(f"talops' memory with {MANY} nodes", memory, "MB", 250)

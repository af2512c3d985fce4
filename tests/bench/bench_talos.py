"""Calls to a Talos node: how long one takes, and what many at once gain."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.bench.figure import Figure

from talops.redaction import Secret
from talops.talos.client import Talos
from talops.talos.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS = 50


@contextmanager
def lab_node() -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.bench.talos_node"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


async def one_by_one(talos: Talos) -> list[float]:
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await talos.version()
        times.append(time.perf_counter() - started)
    return times


async def at_once(talos: Talos) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(talos.version() for _ in range(CALLS)))
    return time.perf_counter() - started


async def measure(address: str, port: int, credentials: Credentials) -> tuple[float, float, float]:
    """The best rounds of several: median of a call, one by one, all at once."""
    async with Talos.connect(address, credentials, port=port) as talos:
        await one_by_one(talos)
        rounds = [await one_by_one(talos) for _ in range(8)]
        median = min(statistics.median(times) for times in rounds)
        return median, min(map(sum, rounds)), min([await at_once(talos) for _ in range(20)])


def figures() -> Iterator[Figure]:
    with lab_node() as facts:
        credentials = Credentials(facts["ca"], facts["certificate"], Secret(facts["key"]))
        median, near_serial, near = asyncio.run(measure(facts["address"], 50000, credentials))
        _, far_serial, far = asyncio.run(measure("127.0.0.1", facts["relay"], credentials))
    yield Figure("a unary call to a lab node, median", median * 1000, "ms", 2.5)
    yield Figure(f"{CALLS} calls at once, 20 ms away", far_serial / far, "x", 10, at_least=True)
    yield Figure(f"{CALLS} calls at once, no way at all", near_serial / near, "x")

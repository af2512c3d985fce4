"""Calls to a Talos node: how long one takes, and what many at once gain.

Plain medians of all rounds. Node, client and the way between them are processes of their own, so
that the Python of one does not delay another. Without a way the gain is limited by work that many
calls do not share: framing and header compression of each call, on both sides. The bound is the
same there.
"""

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

CALLS, ROUNDS = 50, 21
WAY_MS = 10  # there and back


@contextmanager
def helper(*words: str) -> Iterator[dict[str, Any]]:
    """A module of this folder in a process of its own, with what it says when it is up."""
    command = [sys.executable, "-m", *words]
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


async def measure(address: str, port: int, credentials: Credentials) -> tuple[float, float]:
    """The median of a call, and how much faster a round is with all its calls in flight."""
    async with Talos.connect(address, credentials, port=port) as talos:
        await one_by_one(talos)
        await at_once(talos)
        serial, parallel = [], []
        for _ in range(ROUNDS):  # in turn, so that a busy moment meets both
            serial.append(await one_by_one(talos))
            parallel.append(await at_once(talos))
    median = statistics.median(seconds for times in serial for seconds in times)
    return median, statistics.median(map(sum, serial)) / statistics.median(parallel)


def figures() -> Iterator[Figure]:
    with helper("tests.bench.talos_node") as facts:
        credentials = Credentials(facts["ca"], facts["certificate"], Secret(facts["key"]))
        median, near = asyncio.run(measure(facts["address"], 50000, credentials))
        with helper("tests.bench.slow_network", facts["address"], str(WAY_MS / 2000)) as way:
            _, far = asyncio.run(measure("127.0.0.1", way["port"], credentials))
    yield Figure(
        f"a unary call to a lab node, median of {ROUNDS * CALLS}", median * 1000, "ms", 2.5
    )
    yield Figure(f"{CALLS} calls at once, {WAY_MS} ms away", far, "x", 10, at_least=True)
    yield Figure(f"{CALLS} calls at once, no way at all", near, "x", 10, at_least=True)

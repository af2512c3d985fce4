"""The page of 1,000 nodes: each view, its size, and 50 browsers that follow a run."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from typing import IO, TYPE_CHECKING

import httpx
from tests.bench.figure import Figure
from tests.bench.web_server import DONE, LIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS, CLIENTS, SECONDS = 9, 50, 15.0
VIEWS = [
    *("", "topology", "drift", "versions", "runs", "calendar", "capacity", "etcd"),
    *(f"run?run={LIVE}", f"run?run={DONE}"),
]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "tests.bench.web_server", scratch]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin
            assert server.stdout
            address = server.stdout.readline().decode().strip()
            try:
                yield from _views(address)
                before, _ = _used(server.stdin, server.stdout)
                started = time.monotonic()
                changes = asyncio.run(_followed(address))
                after, memory = _used(server.stdin, server.stdout)
                cores = (after - before) / (time.monotonic() - started)
                yield Figure("web: changes that each of 50 clients saw", changes, "per second")
                yield Figure("web: 50 clients follow a run of 200 nodes", cores, "cores", 1)
                yield Figure("web: memory with 5 clusters of 200 nodes", memory, "MB", 200)
            finally:
                server.stdin.close()


def _used(given: IO[bytes], answers: IO[bytes]) -> tuple[float, float]:
    given.write(b"?\n")
    given.flush()
    seconds, kilobytes = answers.readline().split()
    return float(seconds), float(kilobytes) / 1024


def _views(address: str) -> Iterator[Figure]:
    slowest, largest = (0.0, ""), (0, "")
    with httpx.Client(base_url=address, timeout=60) as client:
        while "first time" in client.get("/c/large-4/").text:
            time.sleep(0.2)
        for view in VIEWS:
            times = []
            for _ in range(ROUNDS):
                started = time.monotonic()
                page = client.get(f"/c/large-0/{view}")
                times.append(1000 * (time.monotonic() - started))
                assert page.status_code == 200, page.text
            slowest = max(slowest, (statistics.median(times), view))
            largest = max(largest, (len(page.content), view))
    yield Figure(f"web: slowest view, /{slowest[1][:12]}", slowest[0], "ms", 300)
    yield Figure(f"web: largest view, /{largest[1][:12]}", largest[0] / 1000, "KB", 300)


async def _followed(address: str) -> float:
    """As htmx does it: the view is loaded again for each change. Changes per second and client."""
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        clients = [asyncio.create_task(_follow(client)) for _ in range(CLIENTS)]
        await asyncio.sleep(SECONDS)
        for task in clients:
            task.cancel()
        done = await asyncio.gather(*clients, return_exceptions=True)
    return sum(_count[task] for task in clients) / SECONDS / len(done)


_count: dict[asyncio.Task[None], int] = {}


async def _follow(client: httpx.AsyncClient) -> None:
    me = asyncio.current_task()
    assert me
    _count[me] = 0
    path = f"/c/large-0/run/events?run={LIVE}"
    async with client.stream("GET", path) as stream:
        async for line in stream.aiter_lines():
            if line == "event: changed":
                answer = await client.get(
                    f"/c/large-0/run?run={LIVE}", headers={"hx-request": "true"}
                )
                assert answer.status_code == 200
                _count[me] += 1

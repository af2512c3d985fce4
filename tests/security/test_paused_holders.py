"""A run that was stopped for longer than its lease changes nothing after another one took over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.security import lock_holder
from tests.statestore.running import running

from talops.redaction import Secret
from talops.statestore.stores import StoreAddress
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Iterator

    from tests.statestore.running import Running

LEASE = 0.25
ENDLESS, FEW = 1_000_000, 3
pauses = pytest.mark.parametrize(
    "pauses",
    [
        pytest.param(3, marks=pytest.mark.slow),
        pytest.param(200, marks=[pytest.mark.chaos, pytest.mark.timeout(3600)]),
    ],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("paused")
    with running(StoreAddress(Secret(f"sqlite:{folder / 'states'}"))) as found:
        yield found


@contextlib.asynccontextmanager
async def run(url: str, who: str, count: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A run that holds the lock; the second one asks for it until it gets it."""
    script = str(Path(lock_holder.__file__))
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, url, who, str(LEASE), str(count), stdout=-1, stderr=-1
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"holding\n"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def newest(client: httpx.AsyncClient, url: str) -> int:
    """The number of the newest version of the state."""
    answer = await client.get(f"{url}/{lock_holder.STATE}")
    return int(answer.headers.get("x-state-version", 0))


async def writers(client: httpx.AsyncClient, url: str, after: int) -> list[str]:
    """Who wrote each version after this one."""
    root, project = url.rsplit("/", 1)
    address = f"{root}/-/states/{project}/{lock_holder.STATE}/versions"
    last = await newest(client, url)
    pages = [await client.get(f"{address}/{n}") for n in range(after + 1, last + 1)]
    return [str(page.json()["who"]) for page in pages]


@pauses
async def test_no_write_of_the_first_after_the_second_began(
    server: Running, rng: random.Random, pauses: int
) -> None:
    """Stopped anywhere: between its changes, in a request, with the lock of the state."""
    async with httpx.AsyncClient() as client:
        for number in range(pauses):
            await _one(client, f"{server.address}/p{number}", rng)


async def _one(client: httpx.AsyncClient, url: str, rng: random.Random) -> None:
    async def moving() -> Ready[None] | NotYet:
        return Ready(None) if await newest(client, url) else NotYet("no write yet")

    async with run(url, "first", ENDLESS) as first:
        await wait_for("the first write", moving, timeout=60, interval=0.002)
        await asyncio.sleep(rng.uniform(0, 0.03))
        os.kill(first.pid, signal.SIGSTOP)
        async with run(url, "second", FEW) as second:
            # The first one is stopped: whatever it wrote, it wrote before the second one began.
            before = await newest(client, url)
            os.kill(first.pid, signal.SIGCONT)
            await asyncio.wait_for(first.wait(), 60)
            _, said = await asyncio.wait_for(second.communicate(), 60)
    assert first.returncode in {5, 6}, "the first one lost its lock, or was refused"
    assert second.returncode == 0, said
    since = min(before, await newest(client, url) - FEW)
    assert await writers(client, url, since) == ["second"] * (await newest(client, url) - since)

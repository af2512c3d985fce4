"""`kill -9` of talops between the first apply and the kubeconfig, and two of them at once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import NodeSite, ended, kill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
KILLS, SHARDS = 60, 6
PLANES = ("cp-1", "cp-2", "cp-3")


@asynccontextmanager
async def standing(
    folder: Path, tool: Callable[[str], Path], bundle: Bundle, *names: str
) -> AsyncIterator[NodeSite]:
    async def find(name: str) -> Path:
        return tool(name)

    site = NodeSite(folder, find, bundle, apiservers="leader-only")
    try:
        await site.start(*names)
        for name in names:
            await site.lab.listening(name)
        yield site
    finally:
        await site.lab.close()


async def run_until(site: NodeSite, seconds: float | None) -> tuple[bool, float]:
    """Kill talops so many seconds after its first apply; whether it still ran, and its time."""
    process = await site.talops()
    assert process.stdout
    assert process.stderr
    try:
        async for line in process.stdout:
            if json.loads(line)["kind"] == "change_started":
                break
        started = time.monotonic()
        rest = asyncio.gather(process.stdout.read(), process.stderr.read())
        done, _ = await asyncio.wait([rest], timeout=seconds)
        took = time.monotonic() - started
    finally:
        kill(process)
    said = b"".join(await rest).decode()[-4000:]
    code = await process.wait()
    assert code == (0 if done else -signal.SIGKILL), said
    return not done, took


async def kill_and_repeat(site: NodeSite, kills: int, dice: random.Random, span: float) -> int:
    """`kills` bring-ups, each killed once at a random moment, then run again to the end.

    `span` is how long one takes from its first apply; it is corrected by those that were quicker.
    """
    done = 0
    for attempt in range(4 * kills):
        if done == kills:
            break
        if attempt:
            await site.start_over()
        killed, seconds = await run_until(site, moment := dice.uniform(0.0, span))
        span = span if killed else min(span, seconds)
        done += killed
        code, said = await ended(await site.talops())
        assert code == 0, f"killed {moment:.3f} s after the first apply: {said}"
        await site.assert_one_cluster()
    return done


@pytest.mark.sampled("stages on nodes")
async def test_killed_bring_up_founds_one_cluster(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle, rng: random.Random
) -> None:
    """A sample of what `make chaos` does sixty times."""
    async with standing(tmp_path, tool, bundle, "cp-1", "cp-2") as site:
        assert await kill_and_repeat(site, 1, rng, span=2.0) == 1


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_sixty_kills(
    shard: int, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Sixty moments in all: always one etcd with all three members, founded once."""
    dice = random.Random(f"{os.environ['SEED']}:kill:{shard}")
    async with standing(tmp_path, tool, bundle, *PLANES) as site:
        ran_on, span = await run_until(site, None)
        assert not ran_on
        await site.assert_one_cluster()
        await site.start_over()
        assert await kill_and_repeat(site, KILLS // SHARDS, dice, span) == KILLS // SHARDS


@pytest.mark.sampled("stages on nodes")
async def test_two_at_once_in_one_directory(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """The second is refused and told who is at work; the first finishes."""
    async with standing(tmp_path, tool, bundle, "cp-1") as site:
        both = await asyncio.gather(*[site.talops() for _ in range(2)])
        results = sorted(await asyncio.gather(*(ended(process) for process in both)))
        assert [code for code, _ in results] == [0, 1], results
        assert "pid" in results[1][1]
        await site.assert_one_cluster()


@pytest.mark.sampled("stages on nodes")
async def test_two_at_once_from_two_directories(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Two clones share no lock, and still bootstrap one cluster: the second one observes again."""
    async with standing(tmp_path, tool, bundle, "cp-1", "cp-2") as site:
        clone = tmp_path / "clone"
        shutil.copytree(site.root, clone)
        both = await asyncio.gather(site.talops(), site.talops(clone))
        results = await asyncio.gather(*(ended(process) for process in both))
        for code, said in results:
            # The slower one may meet a node that already has its config; a repeat settles it.
            assert code == 0 or "cp-" in said, said
        if any(code for code, _ in results):
            code, said = await ended(await site.talops(clone))
            assert code == 0, said
        await site.assert_one_cluster()

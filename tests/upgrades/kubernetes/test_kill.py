"""An upgrade of Kubernetes that is killed between any two of its steps, and run again."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.upgrades.kubernetes.test_hop import NEW, THREE_AND_TWO, _all_new

from talops.machineconfig.kubernetes_images import numbers

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from tests.upgrades.kubernetes.conftest import Upgrading
    from tests.upgrades.kubernetes.test_hop import Start

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
REPOSITORY = Path(__file__).parents[3]
# Steps, each with a beginning and an end: of a control plane, and of a worker.
EVENTS_OF_PLANE, EVENTS_OF_WORKER = 10, 2


async def run(cluster: Upgrading, events: int | None) -> None:
    """Killed as soon as it has said so many events, before it goes on."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.upgrades.kubernetes.hop_process"),
        *(str(cluster.lab.root), NEW),
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    said = 0
    try:
        async for _ in process.stdout:
            said += 1
            if said == events:
                break
            process.stdin.write(b"\n")
            await process.stdin.drain()
    finally:
        if process.returncode is None and events is not None and said == events:
            process.send_signal(signal.SIGKILL)
        code = await process.wait()
    assert code == (0 if events is None else -signal.SIGKILL)


async def killed_and_repeated(cluster: Upgrading, kills: Iterable[int]) -> None:
    planes = [name for name in cluster.lab.lab.machines if name.startswith("cp")]
    workers = len(cluster.lab.lab.machines) - len(planes)
    cluster.inventory(kubernetes=NEW)
    before = cluster.applied()
    async with cluster.sampled():
        for events in kills:
            await run(cluster, events)
        await run(cluster, None)
    await _all_new(cluster)
    assert all(numbers(kubelet) <= numbers(server) for server, kubelet in cluster.samples)
    assert cluster.applied() == before + len(planes) * 5 + workers, "nothing was applied twice"


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_killed_and_run_again(upgrading: Start, rng: random.Random) -> None:
    """At two moments of one upgrade; the mark of the first run leads the others to the end."""
    async with upgrading("cp-1", "w-1") as cluster:
        moments = range(1, EVENTS_OF_PLANE + EVENTS_OF_WORKER + 1)
        await killed_and_repeated(cluster, sorted(rng.sample(moments, 2)))


@pytest.mark.chaos
@pytest.mark.timeout(3600)
async def test_killed_after_every_event(upgrading: Start) -> None:
    """Three control planes and two workers, killed after each step's beginning and end."""
    async with upgrading(*THREE_AND_TWO) as cluster:
        last = 3 * EVENTS_OF_PLANE + 2 * EVENTS_OF_WORKER
        await killed_and_repeated(cluster, range(1, last + 1))

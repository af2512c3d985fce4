"""An upgrade of Talos that is killed between any two of its steps, and run again."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.upgrades.conftest import Upgrading

from talops.pipeline.result import RunStatus
from talops.rolls.marks import is_cordoned, mark_of

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Iterable

    from tests.rolls.conftest import Rolling

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rolling]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NEW = "v1.14.1"
REPOSITORY = Path(__file__).parents[2]
# Beginning and end of each step of a node's turn.
EVENTS = 24


async def run(it: Upgrading, events: int | None) -> bool:
    """Killed as soon as it has said so many events; whether it was."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.upgrades.upgrade_process", str(it.cluster.lab.root)),
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
        if process.returncode is None and said == events:
            process.send_signal(signal.SIGKILL)
        code = await process.wait()
    killed = code == -signal.SIGKILL
    assert killed or code == 0
    return killed


class Boots:
    """How often each machine booted."""

    def __init__(self, it: Upgrading) -> None:
        self._it = it
        self._seen = {name: [boot] for name, boot in it.cluster.boots().items()}

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()

    async def _watch(self) -> None:
        while True:
            for name, boot in self._it.cluster.boots().items():
                if self._seen[name][-1] != boot:
                    self._seen[name].append(boot)
            await asyncio.sleep(0.01)

    def counts(self) -> dict[str, int]:
        return {name: len(boots) - 1 for name, boots in self._seen.items()}


async def killed_and_repeated(it: Upgrading, kills: Iterable[int]) -> None:
    """Each kill counts the events of its own run, which begins where the last one ended."""
    it.want(NEW)
    boots = Boots(it)
    async with boots.watched():
        for events in kills:
            await run(it, events)
        assert not await run(it, None)
    assert set(it.versions().values()) == {NEW}
    assert boots.counts() == dict.fromkeys(it.versions(), 1), "nothing restarts twice"
    await in_service(it)
    await it.cluster.lab.assert_one_cluster()


async def in_service(it: Upgrading) -> None:
    """No node is cordoned or marked, and nothing is left to do."""
    nodes = (await it.cluster.kube_nodes()).values()
    assert not any(is_cordoned(node) or mark_of(node) for node in nodes)
    assert (await it.up()).status is RunStatus.UNCHANGED


@pytest.mark.sampled("upgrades of Talos")
async def test_killed_and_run_again(rolling: Start, rng: random.Random) -> None:
    """At two moments of one upgrade."""
    async with rolling("cp-1", "w-1") as cluster:
        await killed_and_repeated(Upgrading(cluster), rng.sample(range(1, EVENTS + 1), 2))


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["cp-1", "w-1"])
async def test_killed_after_every_event(name: str, rolling: Start) -> None:
    """Each event of one node's turn, with other extensions as an upgrade of that node alone."""
    async with rolling("cp-1", "cp-2", "cp-3", "w-1", "w-2") as cluster:
        it = Upgrading(cluster)
        for event in range(1, EVENTS + 1):
            it.extensions(name, "siderolabs/btrfs" if event % 2 else "")
            before = dict.fromkeys(it.versions(), 0) | {name: 1}
            boots = Boots(it)
            async with boots.watched():
                await run(it, event)
                assert not await run(it, None)
            assert boots.counts() == before, f"killed after event {event}"
            await in_service(it)


@pytest.mark.chaos
async def test_killed_again_and_again(rolling: Start, rng: random.Random) -> None:
    """Many kills of one upgrade of three control planes and two workers."""
    async with rolling("cp-1", "cp-2", "cp-3", "w-1", "w-2") as cluster:
        await killed_and_repeated(Upgrading(cluster), [rng.randint(1, EVENTS) for _ in range(12)])

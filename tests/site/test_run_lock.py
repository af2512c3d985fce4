"""The run lock on a remote state: one holder, known to all, and a way out when it is dead."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.statestore.running import running
from tests.statestore.s3_server import S3Server, s3

from talops.errors import ConflictError
from talops.pipeline.lock import Holder, shared_lock
from talops.redaction import Secret
from talops.site.run_lock import LEASE, RunLock, read
from talops.statestore.backends.http import HttpSettings
from talops.statestore.backends.locks import HttpLocks
from talops.statestore.backends.s3 import S3Settings
from talops.statestore.backends.s3_locks import S3Locks
from talops.statestore.model import Retention
from talops.statestore.stores import StoreAddress
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def http_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("states")
    with running(StoreAddress(Secret(f"sqlite:{folder / 'states.db'}"))) as server:
        yield server.address


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Server]:
    with s3() as server:
        yield server


@asynccontextmanager
async def opened(
    kind: str, request: pytest.FixtureRequest, project: str, lease: float = LEASE
) -> AsyncIterator[RunLock]:
    locks: HttpLocks | S3Locks
    if kind == "http":
        url = request.getfixturevalue("http_url")
        locks = HttpLocks(HttpSettings(f"{url}/{project}"))
    else:
        server: S3Server = request.getfixturevalue("bucket")
        settings = S3Settings(server.new_bucket(), "p", (), server.options)
        locks = S3Locks(settings, Retention(1, 1))
    try:
        yield RunLock("demo", locks, print, lease)
    finally:
        await locks.close()


@pytest.mark.parametrize("kind", ["http", "s3"])
async def test_one_run_at_a_time(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The second is told who has it; a dead one is taken over only from its own directory."""
    async with opened(kind, request, "one") as lock:
        me = Holder.myself("r1", "up", tmp_path)
        there = replace(me, run="r2", host="far", place="elsewhere", proof="boot:1:2")
        async with shared_lock(lock, me, print):
            with pytest.raises(ConflictError, match=f"talops up by {me.user}@{me.host}") as caught:
                async with shared_lock(lock, there, print):
                    pass
        assert "talops state unlock demo.run --id" in (caught.value.hint or "")
        assert await lock.acquire(there) is None, "it was given back"
        with pytest.raises(ConflictError, match="@far"):
            async with shared_lock(lock, replace(me, run="r4"), print):
                pass
        # It was killed there, and is started there again.
        async with shared_lock(lock, replace(there, run="r3"), print):
            held = await lock.acquire(me)
            assert held is not None
            assert held.run == "r3"
        assert await lock.acquire(replace(me, run="r5")) is None


@pytest.mark.parametrize("kind", ["http", "s3"])
async def test_a_killed_run_elsewhere_is_replaced_after_its_lease(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Not before; and what it still sends afterwards renews nothing and releases nothing."""
    async with opened(kind, request, f"lease-{kind}", lease=0.3) as lock:
        me = Holder.myself("r1", "up", tmp_path)
        there = replace(me, run="r2", host="far", place="elsewhere", token="t2")
        assert await lock.acquire(there) is None
        assert await lock.renew(there)
        held = await lock.acquire(me)
        assert held is not None
        assert "its lock ends" in lock.way_out(held)

        async def probe() -> Ready[None] | NotYet:
            return Ready(None) if await lock.acquire(me) is None else NotYet("held")

        await wait_for("the end of the lease", probe, timeout=30, interval=0.02)
        assert not await lock.renew(there)
        await lock.release(there)
        assert await lock.renew(me), "what the first one sent changed nothing"
        await lock.release(me)
        assert await lock.acquire(replace(me, run="r3", token="t3")) is None


@pytest.mark.parametrize("kind", ["http", "s3"])
async def test_one_winner(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """However many ask at once."""
    async with opened(kind, request, "race") as lock:
        me = Holder.myself("r", "up", tmp_path)
        rivals = [replace(me, run=f"r{number}", place=str(number)) for number in range(6)]
        answers = await asyncio.gather(*map(lock.acquire, rivals))
        (winner,) = [r for r, answer in zip(rivals, answers, strict=True) if answer is None]
        assert {answer.run for answer in answers if answer} == {winner.run}


@pytest.mark.parametrize("kind", ["http", "s3"])
async def test_the_command_that_is_named_frees_it(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """`talops state unlock NAME --id ID`, with the words of the message."""
    async with opened(kind, request, "free") as lock:
        me = Holder.myself("r1", "up", tmp_path)
        await lock.acquire(me)
        *_, name, _, lock_id = lock.way_out(me).split()
        locks = lock._locks
        assert isinstance(locks, HttpLocks | S3Locks)
        assert name in {info.name for info in await locks.overview() if info.lock}
        assert await locks.unlock(name, lock_id)
        assert await lock.acquire(replace(me, run="r2")) is None


async def test_a_server_without_such_locks_is_noted(tmp_path: Path) -> None:
    """The run goes on, and says what it cannot promise."""
    from tests.statestore.running import start

    said: list[str] = []
    server = start(StoreAddress(Secret(f"sqlite:{tmp_path / 's.db'}")))
    try:
        locks = HttpLocks(HttpSettings(f"{server.address}/-/no/such/place"))
        lock = RunLock("demo", locks, said.append)
        assert await lock.acquire(Holder.myself("r1", "up", tmp_path)) is None
        await locks.close()
    finally:
        server.stop()
    assert "does not support run locks" in said[0]


def test_a_lock_taken_by_hand_is_read_as_far_as_it_goes() -> None:
    """The message names the holder."""
    held = read({"ID": "x", "Who": "eve@far", "Operation": "maintenance", "Created": "today"})
    assert str(held) == "talops maintenance by eve@far (pid 0) since today"
    assert held.lock_id == "x"

"""Killed servers and killed databases: what was acknowledged is there, and whole."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.statestore import distrustful_clients, running
from tests.statestore.postgres_server import postgres
from tests.statestore.running import RestartingServer

from talops.redaction import Secret
from talops.statestore.stores import StoreAddress
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.statestore.postgres_server import PostgresServer

OWNERS = 4
FEW, MANY = 4, 200
# The few of every run write less: each kill waits for a write of one client.
LARGEST = {FEW: 2 * distrustful_clients.MB, MANY: 10 * distrustful_clients.MB}
KEEP = ("--keep-versions", "3")
kills = pytest.mark.parametrize(
    "kills",
    [
        pytest.param(FEW, marks=pytest.mark.slow),
        pytest.param(MANY, marks=[pytest.mark.chaos, pytest.mark.timeout(3600)]),
    ],
)


@contextlib.asynccontextmanager
async def soaking(
    ports: list[int], rng: random.Random, kills: int
) -> AsyncIterator[AsyncIterator[None]]:
    """Owners and a watcher at work; leaving checks that they found nothing wrong.

    Gives the moments at which something may be killed.
    """
    sizes = (10 * distrustful_clients.KB, LARGEST[kills])
    owners = [distrustful_clients.Owner(f"s{n}", ports, rng, sizes) for n in range(OWNERS)]

    async def progress(owner: distrustful_clients.Owner, before: int) -> Ready[None] | NotYet:
        return Ready(None) if owner.writes > before else NotYet(f"{owner.state} waits for a write")

    async def moments() -> AsyncIterator[None]:
        for number in range(kills):
            # Progress of one client first, or nothing would be at stake; and of all in turn, or
            # kill after kill could starve the owner of the largest body forever.
            owner = owners[number % OWNERS]
            await wait_for(
                "progress",
                partial(progress, owner, owner.writes),
                timeout=distrustful_clients.PATIENCE,
                interval=0.02,
            )
            await asyncio.sleep(rng.uniform(0, 0.4))
            yield

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for owner in owners:
            group.create_task(owner.work(stop))
        reads = group.create_task(distrustful_clients.watch([o.state for o in owners], ports, stop))
        try:
            yield moments()
        finally:
            stop.set()
    assert all(owner.writes for owner in owners)
    assert reads.result() > 0


@pytest.mark.sampled("histories of the state server")
@kills
async def test_a_killed_server(tmp_path: Path, rng: random.Random, kills: int) -> None:
    """Kill -9 at any moment of writes from 10 KB to 10 MB loses nothing that was acknowledged."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    server = await asyncio.to_thread(RestartingServer, store, *KEEP)
    try:
        async with soaking([server.port], rng, kills) as moments:
            async for _ in moments:
                await asyncio.to_thread(server.rise)
    finally:
        await asyncio.to_thread(server.stop)


@pytest.mark.sampled("histories of the state server")
@kills
async def test_a_killed_replica(
    postgres_server: PostgresServer, rng: random.Random, kills: int
) -> None:
    """Two servers on one PostgreSQL, one of them killed again and again."""
    store = StoreAddress(Secret(postgres_server.new_database()))
    servers = [await asyncio.to_thread(RestartingServer, store, *KEEP) for _ in "ab"]
    try:
        async with soaking([server.port for server in servers], rng, kills) as moments:
            async for _ in moments:
                await asyncio.to_thread(rng.choice(servers).rise)
    finally:
        for server in servers:
            await asyncio.to_thread(server.stop)


@pytest.mark.sampled("histories of the state server")
@kills
async def test_a_crashed_database(rng: random.Random, kills: int) -> None:
    """PostgreSQL itself stops without warning and recovers; the servers stay."""
    with postgres() as database:
        store = StoreAddress(Secret(database.address))
        with running.running(store, *KEEP) as server:
            async with soaking([server.port], rng, kills) as moments:
                async for _ in moments:
                    await asyncio.to_thread(_crash, database)
            said = await asyncio.to_thread(server.stop)
    assert "Traceback" not in said, "a database that is away is no reason to fill the log"


def _crash(database: PostgresServer) -> None:
    database.stop(signal.SIGQUIT)
    database.start()


@pytest.mark.slow
async def _refused(port: int) -> None:
    """Until the server has closed its port, which is the first thing that it does on SIGTERM."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            return
        writer.close()
        await asyncio.sleep(0.01)


async def test_sigterm_finishes_what_was_begun(tmp_path: Path) -> None:
    """A write that is on its way when SIGTERM arrives is answered, and is there afterwards."""
    from tests.statestore.wire import Wire

    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    server = await asyncio.to_thread(running.start, store)
    body = distrustful_clients.body_of(1, distrustful_clients.MB, 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        f"POST /a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    writer.write(body[:1000])
    await writer.drain()
    waiting = Wire(server.port)
    assert (await waiting.ask("GET", "/readyz")).status == 200
    server.process.send_signal(signal.SIGTERM)
    await _refused(server.port)
    writer.write(body[1000:])
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()
    await waiting.close()
    said = await asyncio.to_thread(server.stop)
    assert "store closed" in said
    assert server.process.returncode == 0
    with running.running(store) as again:
        after = Wire(again.port)
        assert (await after.ask("GET", "/a/b")).body == body
        await after.close()

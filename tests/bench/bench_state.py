"""The state server: cycles (LOCK, GET, POST, UNLOCK) of 8 clients beside what the disk gives.

What is measured: whole cycles over HTTP with Basic auth, every client with one kept connection and
a state of its own, all clients in one lean process beside the server's; each POST carries other
bytes than the one before, with their MD5. The server is the one that users start, with its defaults
and 20 versions kept. A cycle's time is what its client waited. Not in it: making the bodies,
starting processes, and the one scrypt per user; all clients start together once these are done.

The limits beside it are one writer that commits one by one, on the same file system and in turns
with the cycles, so that a machine's mood meets both: for SQLite a 10 KB row per commit through the
server's own settings (WAL, synchronous=FULL), for PostgreSQL one row updated per commit over the
same socket file that the server uses.
"""

from __future__ import annotations

import base64
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figure import Figure
from tests.bench.state_client import body_of, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLIENTS = 8
SECONDS = float(os.environ.get("TALOPS_BENCH_SECONDS", "3"))
ROUNDS = 3
KB, MB = 1024, 1024 * 1024
SIZES = (("10 KB", 10 * KB), ("1 MB", MB), ("10 MB", 10 * MB))
_SETTINGS = {"TALOPS_LISTEN": "127.0.0.1:0", "TALOPS_KEEP_VERSIONS": "20"}


@dataclass(frozen=True)
class Run:
    rate: float
    p99_ms: float
    memory_mb: float
    limit: float = 0  # what one writer alone got meanwhile


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    authorization: str


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        yield from _sqlite(Path(scratch))
        yield from _postgres(Path(scratch))


def _sqlite(scratch: Path) -> Iterator[Figure]:
    def limit() -> float:
        return sqlite_commit_rate(scratch / "limit.db")

    stores = {label: f"sqlite:{scratch / label.replace(' ', '')}" for label, _ in SIZES}
    # Three durable commits a cycle: only shared ones get there.
    yield from _compared(scratch, "sqlite", stores, limit, "FULL commits of 10 KB", 0.3, 500)


def _postgres(scratch: Path) -> Iterator[Figure]:
    from tests.statestore.postgres_server import postgres

    with postgres() as database:

        def limit() -> float:
            return postgres_update_rate(database.local_address)

        stores = {label: database.local_address for label, _ in SIZES}
        yield from _compared(scratch, "postgres", stores, limit, "updates", 0.2, 1000)


def _compared(
    scratch: Path,
    store: str,
    addresses: dict[str, str],
    limit: Callable[[], float],
    unit: str,
    least: float,
    slowest: float,
) -> Iterator[Figure]:
    for label, size in SIZES:
        with _server(scratch, addresses[label]) as server:
            found = measure(server, size, limit if size == SIZES[0][1] else None)
        if found.limit:
            yield Figure(f"{store}'s own {unit}", found.limit, "/s")
            ratio = found.rate / found.limit
            yield Figure(
                f"{store} {label}: cycles per one of these", ratio, "", least, at_least=True
            )
        yield Figure(f"{store} {label}: cycles", found.rate, "/s")
        bound = slowest if size == SIZES[-1][1] else None
        yield Figure(f"{store} {label}: p99 of a cycle", found.p99_ms, "ms", bound)
        yield Figure(f"{store} {label}: server's memory at its peak", found.memory_mb, "MB", 256)


def sqlite_commit_rate(path: Path) -> float:
    """One writer, one 10 KB row per commit."""
    from talops.statestore.sqlite.schema import connect

    db = connect(path)
    db.execute("CREATE TABLE IF NOT EXISTS body (data BLOB)")
    body = os.urandom(10 * KB)
    count, start = 0, time.perf_counter()
    while time.perf_counter() < start + SECONDS / ROUNDS:
        db.execute("INSERT INTO body VALUES (?)", (body,))
        count += 1
    seconds = time.perf_counter() - start
    db.close()
    return count / seconds


def postgres_update_rate(address: str) -> float:
    """One connection, one row updated per commit."""
    import asyncio

    import asyncpg

    async def run() -> float:
        connection = await asyncpg.connect(address)
        await connection.execute("CREATE TABLE IF NOT EXISTS bench (id int PRIMARY KEY, n bigint)")
        await connection.execute("INSERT INTO bench VALUES (1, 0) ON CONFLICT DO NOTHING")
        update = await connection.prepare("UPDATE bench SET n = n + 1 WHERE id = 1")
        count, start = 0, time.perf_counter()
        while time.perf_counter() < start + SECONDS / ROUNDS:
            await update.fetch()
            count += 1
        seconds = time.perf_counter() - start
        await connection.close()
        return count / seconds

    return asyncio.run(run())


@contextlib.contextmanager
def _server(scratch: Path, store: str) -> Iterator[Server]:
    from talops.statestore import users

    book = scratch / "users.json"
    if not book.exists():
        users.add(book, "bench", "bench-password", read=(), write=("*",))
    process = subprocess.Popen(
        [sys.executable, "-m", "talops", "state", "serve", "--users", str(book)],
        env={**os.environ, **_SETTINGS, "TALOPS_STORE": store},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    try:
        port = int(line.strip().rsplit(":", 1)[1])
        token = base64.b64encode(b"bench:bench-password").decode()
        yield Server(port, process.pid, f"Basic {token}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stderr.close()


def measure(server: Server, size: int, limit: Callable[[], float] | None) -> Run:
    """All rounds of one size together."""
    bodies = [[body_of(size), body_of(size)] for _ in range(CLIENTS)]
    times: list[float] = []
    limits: list[float] = []
    seconds = 0.0
    # The clients' process is forked from this one, with the bodies made.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        for _ in range(ROUNDS):
            limits.append(limit() if limit else 0)
            job = (server.port, server.authorization, bodies, SECONDS / ROUNDS)
            found = pool.submit(run, *job).result()
            times += found.times
            seconds += found.seconds
    times.sort()
    slowest = times[min(len(times) - 1, int(len(times) * 0.99))]
    memory = _peak_memory(server.pid)
    return Run(len(times) / seconds, slowest * 1000, memory, sum(limits) / ROUNDS)


def _peak_memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / KB for line in status.splitlines() if "VmHWM" in line)

"""The state server: cycles (LOCK, GET, POST, UNLOCK) of 8 clients beside what the disk gives."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import multiprocessing
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 8
SECONDS = float(os.environ.get("TALOPS_BENCH_SECONDS", "3"))
KB, MB = 1024, 1024 * 1024
SIZES = (("10 KB", 10 * KB), ("1 MB", MB), ("10 MB", 10 * MB))
_SETTINGS = {"TALOPS_LISTEN": "127.0.0.1:0", "TALOPS_KEEP_VERSIONS": "20"}


@dataclass(frozen=True)
class Run:
    rate: float
    p99_ms: float
    memory_mb: float


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        yield from _sqlite(Path(scratch))
        yield from _postgres(Path(scratch))


def _sqlite(scratch: Path) -> Iterator[Figure]:
    commits = sqlite_commit_rate(scratch / "limit.db")
    yield Figure("SQLite's own FULL commits of 10 KB", commits, "/s")
    for label, size in SIZES:
        with _server(scratch, f"sqlite:{scratch / label.replace(' ', '')}") as server:
            run = measure(server, size)
        # Three durable commits a cycle: only shared ones get there.
        yield from _shown("sqlite", label, run, run.rate / commits, 0.3, 500)


def _postgres(scratch: Path) -> Iterator[Figure]:
    from tests.statestore.postgres_server import postgres

    with postgres() as database:
        updates = postgres_update_rate(database.local_address)
        yield Figure("PostgreSQL's own updates", updates, "/s")
        for label, size in SIZES:
            with _server(scratch, database.local_address) as server:
                run = measure(server, size)
            yield from _shown("postgres", label, run, run.rate / updates, 0.2, 1000)


def _shown(
    store: str, label: str, run: Run, ratio: float, least: float, slowest: float
) -> Iterator[Figure]:
    yield Figure(f"{store} {label}: cycles", run.rate, "/s")
    if label == SIZES[0][0]:
        yield Figure(
            f"{store} {label}: cycles per commit or update", ratio, "", least, at_least=True
        )
    limit = slowest if label == SIZES[-1][0] else None
    yield Figure(f"{store} {label}: p99 of a cycle", run.p99_ms, "ms", limit)
    yield Figure(f"{store} {label}: server's memory at its peak", run.memory_mb, "MB", 256)


def sqlite_commit_rate(path: Path) -> float:
    """One writer, one 10 KB row per commit, synchronous=FULL."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE body (data BLOB)")
    body = os.urandom(10 * KB)
    count, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        db.execute("INSERT INTO body VALUES (?)", (body,))
        count += 1
    db.close()
    return count / SECONDS


def postgres_update_rate(address: str) -> float:
    """One connection, one row updated per commit."""
    import asyncio

    import asyncpg

    async def run() -> float:
        connection = await asyncpg.connect(address)
        await connection.execute("CREATE TABLE IF NOT EXISTS bench (id int PRIMARY KEY, n bigint)")
        await connection.execute("INSERT INTO bench VALUES (1, 0) ON CONFLICT DO NOTHING")
        update = await connection.prepare("UPDATE bench SET n = n + 1 WHERE id = 1")
        count, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            await update.fetch()
            count += 1
        await connection.close()
        return count / SECONDS

    return asyncio.run(run())


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    authorization: str


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


def measure(server: Server, size: int) -> Run:
    context = multiprocessing.get_context("fork")
    with context.Pool(CLIENTS) as pool:
        work = [(server, number, size) for number in range(CLIENTS)]
        times = [seconds for part in pool.starmap(_client, work) for seconds in part]
    times.sort()
    slowest = times[min(len(times) - 1, int(len(times) * 0.99))]
    return Run(len(times) / SECONDS, slowest * 1000, _peak_memory(server.pid))


def _peak_memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / KB for line in status.splitlines() if "VmHWM" in line)


def _client(server: Server, number: int, size: int) -> list[float]:
    connection = _Connection(server, f"/bench/client-{number}-{size}")
    # Made beforehand: what is measured is the server, not this client's MD5.
    bodies = [_body(size) for _ in range(2)]
    connection.ask("GET", "")  # the first request pays for scrypt
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or not times:
        body, headers = bodies[len(times) % 2]
        lock_id = f"{number}-{time.time_ns()}"
        lock = b'{"ID":"%s","Who":"bench","Operation":"bench"}' % lock_id.encode()
        started = time.perf_counter()
        connection.ask("LOCK", "", lock)
        connection.ask("GET", "")
        connection.ask("POST", f"?ID={lock_id}", body, headers)
        connection.ask("UNLOCK", "", lock)
        times.append(time.perf_counter() - started)
    return times


def _body(size: int) -> tuple[bytes, str]:
    """A state of the same serial as every other, with content of its own."""
    filler = base64.b64encode(os.urandom(size * 3 // 4))
    body = b'{"version":4,"serial":1,"lineage":"bench","x":"%s"}' % filler
    return body, f"Content-MD5: {base64.b64encode(hashlib.md5(body).digest()).decode()}\r\n"


class _Connection:
    """The least a client can be, so that the two cores are the server's."""

    def __init__(self, server: Server, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._path = path
        self._fixed = f"Host: bench\r\nAuthorization: {server.authorization}\r\n"
        self._buffer = bytearray(MB)

    def ask(self, method: str, query: str, body: bytes = b"", headers: str = "") -> None:
        start = (
            f"{method} {self._path}{query} HTTP/1.1\r\n{self._fixed}{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        if len(body) < MB:
            self._socket.sendall(start + body)
        else:
            self._socket.sendall(start)
            self._socket.sendall(body)
        status = self._answer()
        if status not in {200, 404}:
            raise RuntimeError(f"{method} was answered with {status}")

    def _answer(self) -> int:
        count = self._socket.recv_into(self._buffer)
        while (end := self._buffer.find(b"\r\n\r\n", 0, count)) < 0:
            more = self._socket.recv_into(memoryview(self._buffer)[count:])
            if not more:
                raise RuntimeError("the server hung up")
            count += more
        head = bytes(self._buffer[:end]).lower()
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        left = length - (count - end - 4)
        while left > 0:
            more = self._socket.recv_into(self._buffer, min(left, MB))
            if not more:
                raise RuntimeError("the server hung up")
            left -= more
        return int(head[9:12])

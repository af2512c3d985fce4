"""Clients that mean harm: answered with 4xx or hung up on, and the server lives on."""

from __future__ import annotations

import asyncio
import contextlib
import string
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import state_body
from tests.statestore.running import running
from tests.statestore.wire import Wire

from talops.redaction import Secret
from talops.statestore import slow_clients
from talops.statestore.application import Limits
from talops.statestore.server import Settings, serve
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator
    from pathlib import Path

METHODS = ["GET", "POST", "PUT", "LOCK", "UNLOCK", "DELETE", "HEAD", "PATCH", "OPTIONS", "TRACE"]
PATHS = [
    "/a/b",
    "/a/b/lock",
    "/../../etc/passwd",
    "/a/%2e%2e%2f%2e%2e",
    "/a/%00",
    "/%ff%fe/x",
    "/a/b?ID=%00",
    "/a/b?ID=" + "x" * 5000,
    "/-/states",
    "/-/states/a/b/versions/99999999999999999999999",
    "/-/states/a/b/rollback?version=99999999999999999999",
    "/-/states/../../x/versions",
    "/tfstate/states/",
    "/",
    "*",
]
BODIES = [
    b"",
    b"\x00" * 100,
    b"{" * 50_000,
    b'{"serial":1,"lineage":"l"}',
    b'{"serial":1e999,"lineage":"l"}',
    b'{"ID":"' + b"x" * 70_000 + b'"}',
    b'{"ID":null}',
    b'"\\ud800"',
    b'{"serial":1,"lineage":"\\u0000"}',
    b'{"ID":"\\u0000"}',
    '{"ID":"x"}'.encode("utf-16"),
]
HEADERS = [
    "Content-MD5: !!!!",
    "Content-MD5: " + "A" * 24,
    "Authorization: Basic \x80\x81",
    "Authorization: Basic Og==",
    "If-None-Match: " + '"' * 50,
    "Content-Type: text/html",
    "Transfer-Encoding: gzip",
    "X-Forwarded-For: ../../../",
    "Expect: 100-continue",
]


@contextlib.asynccontextmanager
async def served(directory: Path) -> AsyncIterator[int]:
    """A server inside the test, so that its patience can be shortened."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    store = StoreAddress(Secret(f"sqlite:{directory}"))
    settings = Settings("127.0.0.1", 0, store, None, limits=Limits(body=1024 * 1024))
    task = asyncio.create_task(serve(settings, address.set_result))
    yield int((await address).rsplit(":", 1)[1])
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def say(port: int, data: bytes, *, wait: float = 20.0) -> bytes:
    """Everything the server answers until it disconnects, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(OSError):
        writer.write(data)
        await writer.drain()
        writer.write_eof()
    answer = b""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(wait):
            answer = await reader.read()
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return answer


async def assert_alive(port: int) -> None:
    wire = Wire(port)
    assert (await wire.ask("GET", "/healthz")).status == 200
    await wire.close()


def scribble(rng: random.Random) -> bytes:
    body = rng.choice(BODIES)
    path = rng.choice([*PATHS, "/" + "".join(rng.choices(string.printable, k=30))])
    lines = [f"{rng.choice(METHODS)} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += rng.sample(HEADERS, rng.randrange(3))
    lines.append(f"Content-Length: {rng.choice([len(body)] * 6 + [0, -1, len(body) // 2])}")
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


async def test_scribbled_requests(store_address: StoreAddress, rng: random.Random) -> None:
    """Random methods, paths, headers and bodies: no 5xx, no traceback, no dead server."""
    with running(store_address) as server:
        for _ in range(300):
            request = scribble(rng)
            answer = await say(server.port, request)
            assert not answer.startswith(b"HTTP/1.1 5"), request[:200]
            assert b"Traceback" not in answer
        await assert_alive(server.port)
        said = server.stop()
    assert "Traceback" not in said, said


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 1000,
        b"POST /a/b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
        b"POST /a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n",
    ],
    ids=["tls", "version", "zeros", "chunk", "two-lengths"],
)
async def test_bytes_that_are_no_http(tmp_path: Path, data: bytes) -> None:
    """What is not HTTP gets 400 or silence."""
    async with served(tmp_path) as port:
        answer = await say(port, data)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400"), answer
        await assert_alive(port)


async def test_a_declared_gigabyte(tmp_path: Path) -> None:
    """A length beyond the limit is refused before anything of it is read."""
    async with served(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n{"
        )
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 413")
        assert b"1 MB" in await reader.readline()
        writer.close()
        await writer.wait_closed()
        await assert_alive(port)


async def test_a_client_that_sends_on_after_413(tmp_path: Path) -> None:
    """The refusal arrives even when the client insists on sending its whole body."""
    async with served(tmp_path) as port:
        wire = Wire(port)
        answer = await wire.ask("POST", "/a/b", state_body(1, padding=8_000_000))
        assert answer.status == 413
        assert "--max-body-mb" in answer.json()["hint"]
        await wire.close()


async def test_endless_headers(tmp_path: Path) -> None:
    """Headers that never end are cut off at 64 KB."""
    async with served(tmp_path) as port:
        lines = b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(200))
        answer = await say(port, b"GET /a/b HTTP/1.1\r\nHost: localhost\r\n" + lines)
        assert answer.startswith(b"HTTP/1.1 431")
        await assert_alive(port)


@pytest.mark.parametrize(
    "start",
    [b"", b"GET /a/b HTTP/1.1\r\nX: ", b"POST /a/b HTTP/1.1\r\nContent-Length: 999\r\n\r\n{"],
    ids=["silent", "in the headers", "in the body"],
)
async def test_a_slow_loris_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    """A client that sends a byte now and then is disconnected; the others are served."""
    monkeypatch.setattr(slow_clients, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(slow_clients, "BODY_GRACE", 0.3)
    async with served(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        await assert_alive(port)
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        await assert_alive(port)


async def test_half_an_upload_writes_nothing(tmp_path: Path) -> None:
    """A client that dies during its body leaves no version and no file."""
    async with served(tmp_path) as port:
        body = state_body(1, padding=600_000)
        await say(port, b"POST /a/b HTTP/1.1\r\nContent-Length: 600000\r\n\r\n" + body[:300_000])
        wire = Wire(port)
        assert (await wire.ask("GET", "/a/b")).status == 404
        await wire.close()
    assert list((tmp_path / "blobs").iterdir()) == []

"""What a server sends is limited in bytes and in time, in every client."""

from __future__ import annotations

import ast
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.test_architecture import SRC

from talops.answersize import PER_LINE, limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MOST = 1000
# It streams to a file, with a limit of its own and a checksum.
OWN_LIMIT = {"toolchain/release.py"}


class Endless(httpx.AsyncByteStream):
    def __init__(self, chunk: bytes) -> None:
        self._chunk = chunk
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.sent += len(self._chunk)
            yield self._chunk


def client(stream: httpx.AsyncByteStream | bytes, **headers: str) -> httpx.AsyncClient:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["accept-encoding"] == "identity"
        if isinstance(stream, bytes):
            return httpx.Response(200, content=stream, headers=headers)
        return httpx.Response(200, stream=stream, headers=headers)

    return httpx.AsyncClient(
        transport=httpx.MockTransport(answer), event_hooks=limits(MOST, seconds=10)
    )


async def test_an_endless_answer_ends() -> None:
    """Not one chunk more than the limit is read."""
    stream = Endless(b"x" * 100)
    async with client(stream) as http:
        with pytest.raises(httpx.ReadError, match="larger than"):
            await http.get("http://x.test/")
    assert stream.sent == MOST + 100


async def test_an_announced_size_is_refused_at_once() -> None:
    """Before a byte of the body is read."""
    stream = Endless(b"x")
    async with client(stream, **{"content-length": "1001"}) as http:
        with pytest.raises(httpx.ReadError, match="larger than"):
            await http.get("http://x.test/")
    assert stream.sent == 0


async def test_the_size_of_what_is_not_sent_does_not_count() -> None:
    """The answer to HEAD announces a body that does not follow."""
    async with client(b"", **{"content-length": "1001"}) as http:
        assert (await http.head("http://x.test/")).is_success


async def test_an_answer_of_the_limit_is_read() -> None:
    """The limit itself is allowed."""
    async with client(b"x" * MOST) as http:
        assert len((await http.get("http://x.test/")).content) == MOST


async def test_a_slow_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte at a time never reaches the timeout of one read."""
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("talops.answersize.time.monotonic", lambda: float(next(clock)))
    stream = Endless(b"x")
    async with client(stream) as http:
        with pytest.raises(httpx.ReadTimeout, match="longer than 10 s"):
            await http.get("http://x.test/")
    assert stream.sent == 3


async def test_a_compressed_answer_is_refused() -> None:
    """A few bytes of it may be gigabytes; it was not requested."""
    body = gzip.compress(b"x" * 100_000)
    async with client(body, **{"content-encoding": "gzip"}) as http:
        with pytest.raises(httpx.DecodingError, match="compressed"):
            await http.get("http://x.test/")


async def test_a_watch_may_be_endless_but_not_one_line_of_it() -> None:
    """The limit is for one line there, not for the whole answer or its duration."""
    async with (
        client(Endless(b"x" * 99 + b"\n")) as http,
        http.stream("GET", "http://x.test/", extensions=PER_LINE) as answer,
    ):
        lines = answer.aiter_lines()
        assert {len(await anext(lines)) for _ in range(100)} == {99}
    async with (
        client(Endless(b"x" * 100)) as http,
        http.stream("GET", "http://x.test/", extensions=PER_LINE) as answer,
    ):
        with pytest.raises(httpx.ReadError, match="larger than"):
            await anext(answer.aiter_lines())


def test_every_client_has_limits() -> None:
    """Each AsyncClient of the product is created with `event_hooks`."""
    clients: dict[str, list[bool]] = {}
    for path in sorted(SRC.rglob("*.py")):
        if path.is_relative_to(SRC / "lab"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "httpx.AsyncClient":
                given = {keyword.arg for keyword in node.keywords}
                clients.setdefault(str(Path(path).relative_to(SRC)), []).append(
                    "event_hooks" in given
                )
    assert len(clients) >= 10
    assert {file for file, given in clients.items() if not all(given)} == OWN_LIMIT

"""HTTP answers, one of them damaged, for clients that take a transport."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
from tests.fuzz.campaign import WrongError
from tests.fuzz.mutations import HOSTILE_TEXTS, damaged, scrambled

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

MOST_REQUESTS = 300
STATUSES = (200, 200, 201, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 501, 503, 596)
ENCODINGS = ("gzip", "deflate", "identity", "br", "\x1b[31m")


# What a server sends instead of the right answer: status, body, headers, reason.
Sent = tuple[int, bytes, tuple[tuple[str, str], ...], bytes]


def damaged_answer(rng: random.Random, document: Any, failure: Any) -> Sent:
    """Mostly JSON of a wrong shape; also bytes, error bodies, and headers that do not fit."""
    kind = rng.random()
    if kind < 0.7:
        return 200, _json(damaged(rng, document)), (), b"OK"
    if kind < 0.8:
        return 200, scrambled(rng, _json(document)), (), b"OK"
    reason = rng.choice(HOSTILE_TEXTS[:8]).encode(errors="replace").replace(b"\n", b" ")
    if kind < 0.95:
        return rng.choice(STATUSES), _json(damaged(rng, failure)), (), reason
    body = rng.choice([b"[" * 100_000, b"", b"\x1f\x8b\x08\x00", _json(document), b"NaN"])
    headers = (
        ("content-encoding", rng.choice(ENCODINGS)),
        ("location", rng.choice(["http://[", "//", "\x1b", "http://x.test/"])),
        ("set-cookie", rng.choice(["a=b", "\x00", "=;=;=", "a=b; Max-Age=x; Domain=["])),
    )
    return rng.choice(STATUSES), body, headers[: rng.randint(1, 3)], reason


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


class Transport(httpx.AsyncBaseTransport):
    """The damaged answer for one path, the right ones for others."""

    def __init__(
        self, right: Callable[[httpx.Request], Any], path: str = "", sent: Sent | None = None
    ) -> None:
        self._right = right
        self.asked: list[httpx.Request] = []
        self._path = path
        self._sent = sent

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if len(self.asked) > MOST_REQUESTS:
            raise WrongError(f"more than {MOST_REQUESTS} requests, last {request.url}")
        right: Sent = 200, _json(self._right(request)), (), b"OK"
        wrong = self._sent and request.url.path.endswith(self._path)
        status, body, headers, reason = self._sent if wrong and self._sent else right
        return httpx.Response(
            status,
            headers=[(k.encode(), v.encode("latin-1", "replace")) for k, v in headers],
            stream=_Body(body),
            extensions={"reason_phrase": reason},
        )


class _Body(httpx.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> Any:
        yield self._content

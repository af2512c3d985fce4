"""Limits on what is read of one HTTP answer, for every client that uses httpx.

A server decides how much it sends, and how slowly. `limits()` gives the hooks of a client that stop
reading after a number of bytes or seconds, as a failed connection. Answers are requested without
compression, so that the bytes that arrive are the bytes that are kept.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MEBIBYTE = 1 << 20
# A page of 500 large objects, or the resources of a large Proxmox cluster, has a few.
MOST_BYTES = 64 * MEBIBYTE
_LONGEST_NUMBER = 18
# The timeout of a client is for one read; a server that sends a byte at a time never reaches it.
MOST_SECONDS = 300.0
# Of a request whose answer has no end: the limit is for one line.
PER_LINE = {"limit_per_line": True}


def limits(most: int = MOST_BYTES, seconds: float = MOST_SECONDS) -> dict[str, list[Any]]:
    """The `event_hooks` of an httpx.AsyncClient."""

    async def answered(response: httpx.Response) -> None:
        coding = response.headers.get("content-encoding", "identity")
        if coding.strip().lower() not in {"", "identity"}:
            raise httpx.DecodingError("the answer is compressed, which was not requested")
        announced = response.headers.get("content-length", "")
        if _is_more(announced, most) and not _is_head(response):
            raise _too_large(most)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        per_line = "limit_per_line" in response.request.extensions
        response.stream = _Limited(response.stream, most, None if per_line else seconds)

    return {"request": [_plain], "response": [answered]}


async def _plain(request: httpx.Request) -> None:
    request.headers["Accept-Encoding"] = "identity"


def _is_more(announced: str, most: int) -> bool:
    """Python refuses to convert thousands of digits."""
    return announced.isdecimal() and (len(announced) > _LONGEST_NUMBER or int(announced) > most)


def _is_head(response: httpx.Response) -> bool:
    return response.request.method == "HEAD"


def _too_large(most: int) -> httpx.ReadError:
    return httpx.ReadError(f"the answer is larger than {most // MEBIBYTE} MiB")


class _Limited(httpx.AsyncByteStream):
    """`seconds` is None where the limit is for one line."""

    def __init__(self, inner: httpx.AsyncByteStream, most: int, seconds: float | None) -> None:
        self._inner = inner
        self._most = most
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read, started = 0, time.monotonic()
        async for chunk in self._inner:
            read += len(chunk)
            if self._seconds is None and (line := chunk.rfind(b"\n")) >= 0:
                read = len(chunk) - line - 1
            if read > self._most:
                raise _too_large(self._most)
            if self._seconds is not None and time.monotonic() - started > self._seconds:
                raise httpx.ReadTimeout(f"the answer takes longer than {self._seconds:.0f} s")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()

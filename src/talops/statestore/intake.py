"""Receive the body of a state: measure, hash, check and seal it; stage it if it is large."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING

from talops.statestore.cache import spool
from talops.statestore.documents import StateHeader, header_at_start, header_of
from talops.statestore.encryption.sealing import FRAME
from talops.statestore.exchange import Response, refusal
from talops.statestore.store import INLINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.statestore.encryption.sealing import BodyCipher, NoSeal, Seal
    from talops.statestore.exchange import Request
    from talops.statestore.model import Version
    from talops.statestore.store import Store


# Some pieces of a body, and whether they are the last ones.
_Frame = tuple[list[bytes], bool]


class RefusedError(Exception):
    """The request is refused with this response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass(frozen=True, slots=True)
class Content:
    """A checked body: either `body` (sealed) or the name of a staged blob."""

    header: StateHeader
    size: int
    md5: str
    wrap: Callable[[Version], str] | None
    blob: str = ""
    body: bytes = field(default=b"", repr=False)


class Intake:
    def __init__(self, store: Store, vault: BodyCipher, limit: int) -> None:
        self._store = store
        self._vault = vault
        self.limit = limit
        # Large bodies without a Content-MD5 are parsed in memory completely: one at a time, and
        # only after they have arrived.
        self._whole = asyncio.Semaphore(1)

    async def take(self, request: Request, state: str) -> Content:
        self._check_declared(request)
        expected = _declared_md5(request)
        start, more = await request.start(INLINE_LIMIT)
        if len(start) <= INLINE_LIMIT:
            return self._take_small(state, start, expected)
        return await self._take_large(state, self._bounded(start, request, more=more), expected)

    def _take_small(self, state: str, body: bytes, expected: str) -> Content:
        md5 = hashlib.md5(body, usedforsecurity=False).hexdigest()
        _compare(expected, md5)
        header = header_of(body)
        seal = self._vault.seal(state)
        sealed = seal.frame([body], last=True)
        return Content(header, len(body), md5, seal.wrap, body=b"".join(sealed))

    async def _take_large(self, state: str, pieces: AsyncIterator[bytes], expected: str) -> Content:
        start = await anext(pieces)
        header = header_at_start(start)
        if header and expected:
            # The digest proves that all bytes arrived; parsing all of them again would only repeat
            # what the sender did.
            return await self._stage(state, header, _frames(_after(start, pieces)), expected)
        with spool() as file:
            await asyncio.to_thread(file.write, start)
            async for piece in pieces:
                await asyncio.to_thread(file.write, piece)
            async with self._whole:
                body = await asyncio.to_thread(_whole, file)
                header = await asyncio.to_thread(header_of, body)
                return await self._stage(state, header, _frames(_after(body)), expected)

    async def _stage(
        self, state: str, header: StateHeader, frames: AsyncIterator[_Frame], expected: str
    ) -> Content:
        seal = self._vault.seal(state)
        digest = hashlib.md5(usedforsecurity=False)
        size, end = 0, b""
        staging = await self._store.stage()
        writing = _done()
        try:
            async for pieces, last in frames:
                size, end = size + sum(map(len, pieces)), _last_byte(pieces) or end
                await writing
                # The next frame arrives while this one is hashed, sealed and written.
                make = partial(_process, digest, seal, pieces, last)
                writing = asyncio.ensure_future(staging.write(make))
            await writing
            _compare(expected, digest.hexdigest())
            _check_end(end)
            blob = await staging.finish()
        except BaseException:
            await asyncio.gather(writing, return_exceptions=True)
            await staging.abort()
            raise
        return Content(header, size, digest.hexdigest(), seal.wrap, blob)

    def _check_declared(self, request: Request) -> None:
        text = request.header(b"content-length") or b"0"
        if text.isdigit() and int(text) > self.limit:
            raise self._too_large()

    async def _bounded(self, start: bytes, request: Request, *, more: bool) -> AsyncIterator[bytes]:
        size = len(start)
        if size > self.limit:
            raise self._too_large()
        yield start
        if not more:
            return
        async for piece in request.pieces():
            size += len(piece)
            if size > self.limit:
                raise self._too_large()
            yield piece

    def _too_large(self) -> RefusedError:
        answer = refusal(
            413,
            f"the state exceeds the limit of this server ({self.limit // 1024**2} MB)",
            "increase --max-body-mb on the server, or split the configuration into several states",
        )
        return RefusedError(Response(answer.status, answer.body, answer.headers, unread=True))


def _whole(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _done() -> asyncio.Future[None]:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future


def _process(
    digest: hashlib._Hash, seal: Seal | NoSeal, pieces: list[bytes], last: bool
) -> list[bytes]:
    for piece in pieces:
        digest.update(piece)
    return seal.frame(pieces, last=last)


async def _frames(pieces: AsyncIterator[bytes]) -> AsyncIterator[_Frame]:
    """Frames of equal size; the last one, marked, may be shorter."""
    frame: list[bytes] = []
    size = 0
    async for piece in pieces:
        left = piece
        # A frame without the end mark must be followed by another one.
        while size + len(left) > FRAME:
            cut = FRAME - size
            yield [*frame, left[:cut]], False
            frame, size, left = [], 0, left[cut:]
        frame.append(left)
        size += len(left)
    yield frame, True


async def _after(start: bytes, rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    yield start
    if rest is not None:
        async for piece in rest:
            yield piece


def _declared_md5(request: Request) -> str:
    text = request.header(b"content-md5")
    if text is None:
        return ""
    try:
        return base64.b64decode(text, validate=True).hex()
    except binascii.Error:
        raise RefusedError(refusal(400, "Content-MD5 is not base64")) from None


def _last_byte(pieces: list[bytes]) -> bytes:
    """The last byte that is not white space; trailing white space may be in its own frame."""
    ends = (piece.rstrip()[-1:] for piece in reversed(pieces))
    return next((end for end in ends if end), b"")


def _check_end(end: bytes) -> None:
    if end != b"}":
        raise RefusedError(refusal(400, "the body is not a state: it is incomplete"))


def _compare(expected: str, found: str) -> None:
    if expected and expected != found:
        raise RefusedError(refusal(400, "the body does not match its Content-MD5", "send it again"))

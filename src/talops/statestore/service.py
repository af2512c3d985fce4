"""The requests of the state protocol, between the wire and a store."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.statestore.exchange import JSON_TYPE, Response, document_response, refusal
from talops.statestore.intake import Intake, RefusedError
from talops.statestore.lockinfo import LIMIT as LOCK_LIMIT
from talops.statestore.lockinfo import describe, given_lock_id, parse_lock, parse_unlock
from talops.statestore.model import Actor, AuditEntry, Draft, Outcome, OutcomeKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.statestore.exchange import Request
    from talops.statestore.metrics import Metrics
    from talops.statestore.model import Standing, Stored
    from talops.statestore.sealing import BodyCipher
    from talops.statestore.store import Store

_TRUE = {"1", "true", "yes"}


@dataclass(frozen=True, slots=True)
class Call:
    """The user and the state of a request."""

    state: str
    who: str
    origin: str

    @property
    def actor(self) -> Actor:
        return Actor(self.who, self.origin)


class Service:
    def __init__(
        self,
        store: Store,
        vault: BodyCipher,
        metrics: Metrics,
        *,
        body_limit: int,
        written: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._vault = vault
        self._metrics = metrics
        self._intake = Intake(store, vault, body_limit)
        self._written = written
        self._clock = clock

    async def read(self, call: Call, request: Request) -> Response:
        stored = await self._store.read(call.state)
        if stored is None:
            return refusal(404, f"state {call.state} does not exist")
        known = request.header(b"if-none-match")
        return await self.deliver(call.state, stored, known, head=request.method == "HEAD")

    async def deliver(
        self, state: str, stored: Stored, known: bytes | None = None, *, head: bool = False
    ) -> Response:
        """The bytes of a version; for HEAD only the headers."""
        version = stored.version
        tag = b'"%s"' % version.md5.encode()
        headers = [(b"etag", tag), (b"x-state-version", b"%d" % version.number)]
        if known is not None and tag in {part.strip() for part in known.split(b",")}:
            return Response(304, b"", headers)
        headers.append(JSON_TYPE)
        if head:
            return Response(200, b"", headers, _nothing(), version.size)
        if stored.body is not None:
            body = self._vault.open(state, version.sealed_key, stored.body)
            return Response(200, body, headers)
        pieces = self._vault.open_stream(
            state, version.sealed_key, self._store.stream(version.blob)
        )
        # Fetch the first piece before the response starts: a blob that cannot be read is an
        # error, never the start of a state.
        first = await anext(pieces)
        return Response(200, b"", headers, _chained(first, pieces), version.size)

    async def write(self, call: Call, request: Request) -> Response:
        content = await self._intake.take(request, call.state)
        self._metrics.received += content.size
        draft = Draft(
            content.header.serial,
            content.header.lineage,
            content.size,
            content.md5,
            call.actor,
            self._clock(),
            given_lock_id(request.query("ID")),
            request.query("force") in _TRUE,
            "",
            content.sealed_key,
            content.blob,
            content.body,
        )
        outcome = await self._store.write(call.state, draft)
        if outcome.kind is OutcomeKind.DONE:
            self._metrics.versions += 1
            self._written(call.state)
        elif draft.blob and not outcome.accepted:
            # If it was already done, an earlier copy of this request may own the blob.
            await self._store.discard(draft.blob)
        return self.judged(call.state, outcome, draft)

    def judged(self, state: str, outcome: Outcome, draft: Draft) -> Response:
        """The response to a write."""
        if outcome.accepted and outcome.current:
            return Response(200, b"", _named(outcome.current))
        if outcome.kind is OutcomeKind.HELD and outcome.holder:
            return self._held(outcome)
        if outcome.kind is OutcomeKind.ABSENT:
            return refusal(404, "version does not exist")
        return refusal(409, *_why_not(state, outcome, draft))

    async def lock(self, call: Call, request: Request) -> Response:
        wanted = parse_lock(await _small_body(request))
        outcome = await self._store.lock(call.state, wanted)
        if outcome.accepted:
            return Response(200)
        if outcome.kind is OutcomeKind.HELD:
            return self._held(outcome)
        return refusal(409, "this lock was already released", "run the command again")

    async def unlock(self, call: Call, request: Request) -> Response:
        wish = parse_unlock(await _small_body(request))
        entry = None
        if wish.forced:
            entry = AuditEntry(self._clock(), call.who, call.origin, "force-unlock", call.state)
        outcome = await self._store.unlock(call.state, wish.lock_id, entry)
        return Response(200) if outcome.accepted else self._held(outcome)

    async def delete(self, call: Call, _: Request) -> Response:
        outcome = await self._store.delete(call.state, call.actor, self._clock())
        return Response(200) if outcome.accepted else self._held(outcome)

    async def holder(self, call: Call, _: Request) -> Response:
        summary = await self._store.summary(call.state)
        if summary is None or summary.lock is None:
            return refusal(404, f"{call.state} is not locked")
        return document_response(describe(summary.lock))

    def _held(self, outcome: Outcome) -> Response:
        # 423 with the document of the holder and its ID: otherwise clients do not wait.
        self._metrics.refused_locks += 1
        assert outcome.holder is not None
        return Response(423, outcome.holder.info, [JSON_TYPE])


def _why_not(state: str, outcome: Outcome, draft: Draft) -> tuple[str, str]:
    current = outcome.current
    if outcome.kind is OutcomeKind.LOST or current is None:
        return (
            "the lock of this write is no longer held",
            "the lock was removed: plan again; the client keeps errored.tfstate",
        )
    name = state.rpartition("/")[2]
    force = f"to overwrite it: talops state restore {name} FILE --force"
    if outcome.kind is OutcomeKind.FOREIGN:
        return (
            f"different lineage: stored {current.lineage}, received {draft.lineage}",
            f"check that this is the right state; {force}",
        )
    return (
        f"older serial: stored {current.serial}, received {draft.serial}",
        f"the state was updated meanwhile: plan again; {force}",
    )


def _named(version: Standing) -> list[tuple[bytes, bytes]]:
    return [
        (b"etag", b'"%s"' % version.md5.encode()),
        (b"x-state-version", b"%d" % version.number),
    ]


async def _chained(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


async def _nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for piece in nothing:
        yield piece


async def _small_body(request: Request) -> bytes:
    body, _ = await request.start(LOCK_LIMIT)
    if len(body) > LOCK_LIMIT:
        answer = refusal(413, "the lock document is too large")
        raise RefusedError(Response(413, answer.body, answer.headers, unread=True))
    return body

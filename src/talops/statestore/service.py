"""The requests of the state protocol, between the wire and a store."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.statestore.exchange import JSON_TYPE, Response, document_response, refusal
from talops.statestore.intake import Intake, RefusedError
from talops.statestore.lockinfo import LIMIT as LOCK_LIMIT
from talops.statestore.lockinfo import (
    describe,
    given_lock_id,
    of_run,
    parse_fence,
    parse_lock,
    parse_unlock,
)
from talops.statestore.model import Actor, AuditEntry, Draft, Outcome, OutcomeKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.statestore.encryption.sealing import BodyCipher
    from talops.statestore.exchange import Headers, Request
    from talops.statestore.metrics import Metrics
    from talops.statestore.model import Lock, Standing, Stored
    from talops.statestore.store import Store

_TRUE = {"1", "true", "yes"}


@dataclass(frozen=True, slots=True)
class Call:
    """The user and the state of a request; `force`: the user may remove the locks of others."""

    state: str
    who: str
    origin: str
    force: bool = False

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
        self.note(call, "read", f"version {stored.version.number}")
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
            body = self._vault.open(state, version, stored.body)
            return Response(200, body, headers)
        pieces = self._vault.open_stream(state, version, self._store.stream(version.blob))
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
            "",
            content.blob,
            content.body,
            parse_fence(request.query("run"), call.state),
            content.wrap,
        )
        outcome = await self._store.write(call.state, draft)
        if outcome.kind is OutcomeKind.DONE:
            self._metrics.versions += 1
            self._written(call.state)
        elif draft.blob and not outcome.accepted:
            # If it was already done, an earlier copy of this request may own the blob.
            await self._store.discard(draft.blob)
        if outcome.kind in _SUSPICIOUS:
            self.note(call, "write-refused", f"{outcome.kind}: lock {draft.lock_id}")
        return self.judged(call.state, outcome, draft)

    def judged(self, state: str, outcome: Outcome, draft: Draft) -> Response:
        """The response to a write."""
        if outcome.accepted and outcome.current:
            return Response(200, b"", _named(outcome.current))
        if outcome.kind is OutcomeKind.HELD and outcome.holder:
            return self._held(outcome)
        if outcome.kind is OutcomeKind.ABSENT:
            return refusal(404, "version does not exist")
        if outcome.kind is OutcomeKind.DENIED:
            return _of_another(state, outcome)
        return refusal(409, *_why_not(state, outcome, draft))

    async def lock(self, call: Call, request: Request) -> Response:
        fence = parse_fence(request.query("run"), call.state)
        wanted = of_run(parse_lock(await _small_body(request), call.who), fence)
        entry = AuditEntry(self._clock(), call.who, call.origin, "lock", call.state)
        outcome = await self._store.lock(call.state, wanted, entry, fence)
        if outcome.accepted:
            lease = [(b"x-lock-lease", b"%g" % wanted.lease)] if wanted.lease else []
            return Response(200, b"", lease)
        if outcome.kind is OutcomeKind.HELD:
            return self._held(outcome)
        if outcome.kind is OutcomeKind.FENCED:
            return refusal(409, *_FENCED)
        return refusal(409, "this lock was already released", "run the command again")

    async def unlock(self, call: Call, request: Request) -> Response:
        wish = parse_unlock(await _small_body(request))
        action = "force-unlock" if wish.forced else "unlock"
        entry = AuditEntry(self._clock(), call.who, call.origin, action, call.state)
        by = None if call.force else call.who
        fence = parse_fence(request.query("run"), call.state)
        outcome = await self._store.unlock(call.state, wish.lock_id, entry, by, fence)
        if outcome.kind is OutcomeKind.FENCED:
            return refusal(409, *_FENCED)
        if outcome.kind is OutcomeKind.DENIED and outcome.holder:
            self.note(call, "unlock-refused", f"lock {outcome.holder.id}")
            return _of_another(call.state, outcome)
        return Response(200) if outcome.accepted else self._held(outcome)

    async def delete(self, call: Call, _: Request) -> Response:
        outcome = await self._store.delete(call.state, call.actor, self._clock())
        return Response(200) if outcome.accepted else self._held(outcome)

    async def holder(self, call: Call, _: Request) -> Response:
        summary = await self._store.summary(call.state)
        if summary is None or summary.lock is None:
            return refusal(404, f"{call.state} is not locked")
        self.note(call, "read", "lock")
        lease = remaining(summary.lock, self._clock())
        return document_response(describe(summary.lock), 200, lease)

    def note(self, call: Call, action: str, detail: str) -> None:
        """Record what changed nothing."""
        self._store.note(
            AuditEntry(self._clock(), call.who, call.origin, action, call.state, detail)
        )

    def _held(self, outcome: Outcome) -> Response:
        # 423 with the document of the holder and its ID: otherwise clients do not wait.
        self._metrics.refused_locks += 1
        assert outcome.holder is not None
        return Response(423, outcome.holder.info, [JSON_TYPE])


# A client that follows the protocol never gets these.
_SUSPICIOUS = {OutcomeKind.DENIED, OutcomeKind.FENCED, OutcomeKind.LOST}
_FENCED = (
    "the run of this request does not hold its run lock any more",
    "another run took over: run talops again",
)


def _of_another(state: str, outcome: Outcome) -> Response:
    owner = outcome.holder.owner if outcome.holder else "another user"
    hint = f'ask them, or grant it in the users file: "force": ["{state}"]'
    return refusal(403, f"the lock of {state} belongs to {owner}", hint)


def _why_not(state: str, outcome: Outcome, draft: Draft) -> tuple[str, str]:
    current = outcome.current
    if outcome.kind is OutcomeKind.FENCED:
        return _FENCED
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


def remaining(lock: Lock, now: float) -> Headers:
    """The seconds after which another client gets the lock, if it has a lease."""
    left = max(0.0, lock.expires - now)
    return [(b"x-lock-lease", b"%g" % left)] if lock.expires else []


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

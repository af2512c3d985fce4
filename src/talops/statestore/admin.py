"""Endpoints for administration and monitoring: lists, versions, rollback, health, metrics."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from talops.errors import TalopsError, UnreachableError
from talops.statestore import paths
from talops.statestore.encryption.resealing import Resealing
from talops.statestore.exchange import Request, Response, document_response, refusal
from talops.statestore.intake import RefusedError
from talops.statestore.lockinfo import BadLockError, describe, given_lock_id, parse_fence
from talops.statestore.model import Actor, Draft
from talops.statestore.service import Call
from talops.statestore.users import Access

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

    from talops.statestore.audit.chain import Block
    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.encryption.sealing import BodyCipher
    from talops.statestore.gate import Gate
    from talops.statestore.metrics import Metrics
    from talops.statestore.model import Summary, Version
    from talops.statestore.service import Service
    from talops.statestore.store import Store
    from talops.statestore.users import User

AUDIT_LIMIT = 1000
BLOCK_LIMIT = 500
LONGEST_NUMBER = 18  # digits that always fit into 64 bits
_STATE = "/-/states/{project}/{name}"


@dataclass
class Lifecycle:
    draining: bool = False


class Admin:
    def __init__(
        self, store: Store, vault: BodyCipher, service: Service, gate: Gate, metrics: Metrics
    ) -> None:
        self._store = store
        self._vault = vault
        self._service = service
        self._gate = gate
        self._metrics = metrics
        self.lifecycle = Lifecycle()

    def application(self) -> Starlette:
        application = Starlette(
            routes=[
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route("/metrics", self._metrics_page),
                Route("/-/states", self._states),
                Route(_STATE + "/versions", self._versions),
                Route(_STATE + "/versions/{number}", self._version),
                Route(_STATE + "/rollback", self._rollback, methods=["POST"]),
                Route("/-/audit", self._audit),
                Route("/-/audit/blocks", self._blocks),
                Route("/-/rewrap", self._rewrap, methods=["POST"]),
            ],
            exception_handlers={RefusedError: _refused, TalopsError: _failed},
        )
        # A redirect would repeat the query, whatever bytes it has.
        application.router.redirect_slashes = False
        return application

    async def _healthz(self, _: HttpRequest) -> HttpResponse:
        return PlainTextResponse("alive\n")

    async def _readyz(self, _: HttpRequest) -> HttpResponse:
        if self.lifecycle.draining:
            return PlainTextResponse("draining\n", 503)
        await self._store.check()
        return PlainTextResponse("ready\n")

    async def _metrics_page(self, _: HttpRequest) -> HttpResponse:
        text = self._metrics.render(draining=self.lifecycle.draining)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _states(self, request: HttpRequest) -> HttpResponse:
        user = await self._enter(request)
        found = await self._store.states()
        self._service.note(Call("", user.name, _origin(request)), "list", "")
        return _json([summary_document(s) for s in found if user.may(Access.READ, s.name)])

    async def _versions(self, request: HttpRequest) -> HttpResponse:
        state, user = await self._permit(request, Access.READ)
        self._service.note(Call(state, user.name, _origin(request)), "list", "versions")
        return _json([version_document(v) for v in await self._store.versions(state)])

    async def _version(self, request: HttpRequest) -> HttpResponse:
        state, user = await self._permit(request, Access.READ)
        stored = await self._store.read(state, _number(request.path_params["number"]))
        if stored is None:
            raise RefusedError(refusal(404, "version does not exist"))
        call = Call(state, user.name, _origin(request))
        self._service.note(call, "read", f"version {stored.version.number}")
        return _http(await self._service.deliver(state, stored, head=request.method == "HEAD"))

    async def _rollback(self, request: HttpRequest) -> HttpResponse:
        state, user = await self._permit(request, Access.WRITE)
        number = _number(request.query_params.get("version", ""))
        actor = Actor(user.name, _origin(request))
        lock_id = given_lock_id(request.query_params.get("ID", ""))
        note = f"rollback to version {number}"
        fence = parse_fence(request.query_params.get("run", ""), state)
        draft = Draft(
            0,
            "",
            0,
            "",
            actor,
            time.time(),
            lock_id,
            force=True,
            note=note,
            fence=fence,
            rewrap=partial(self._vault.rewrap, state) if self._vault.keyring else None,
        )
        outcome = await self._store.rollback(state, number, draft)
        return _http(self._service.judged(state, outcome, draft))

    async def _audit(self, request: HttpRequest) -> HttpResponse:
        user = await self._enter(request)
        entries = await self._store.audit(AUDIT_LIMIT)
        self._service.note(Call("", user.name, _origin(request)), "read", "audit")
        return _json(
            [
                {
                    "at": _moment(entry.at),
                    "who": entry.who,
                    "from": entry.origin,
                    "action": entry.action,
                    "state": entry.state,
                    "detail": entry.detail,
                }
                for entry in entries
                if user.may(Access.READ, entry.state)
            ]
        )

    async def _blocks(self, request: HttpRequest) -> HttpResponse:
        """The chain itself; it names all states, so only those who may read all of them get it."""
        user = await self._enter(request)
        if not user.may_read_all():
            raise RefusedError(
                refusal(403, "the audit chain names all states", 'it requires "read": ["*"]')
            )
        after = _number(request.query_params.get("after", "0"))
        blocks, head = await self._store.blocks(after, BLOCK_LIMIT)
        # Recorded after the chain was read: a block of this server does not cover a forged end.
        self._service.note(Call("", user.name, _origin(request)), "read", f"audit after {after}")
        ring = self._vault.keyring
        return _json(
            {
                "head": {"number": head.number, "hash": head.hash},
                "signed": ring is not None,
                "blocks": [block_document(block, ring) for block in blocks],
            }
        )

    async def _rewrap(self, request: HttpRequest) -> HttpResponse:
        """Every version for the current key; with --accept-plaintext, every state encrypted."""
        user = await self._enter(request)
        keyring = self._vault.keyring
        if keyring is None:
            raise RefusedError(refusal(409, "this server has no key", "start it with --key-file"))
        actor = Actor(user.name, _origin(request))
        resealing = Resealing(self._store, self._vault, keyring, actor)
        names = [summary.name for summary in await self._store.states()]
        for name in names:
            self._gate.permit(user, Access.WRITE, name, actor.origin)
        rewrapped = sum([await resealing.rewrap(name) for name in names])
        encrypted = sum([await resealing.encrypt(name) for name in names])
        call = Call("", user.name, actor.origin)
        self._service.note(call, "rewrap", f"{rewrapped} keys, {encrypted} states")
        return _json({"rewrapped": rewrapped, "encrypted": encrypted})

    async def _enter(self, request: HttpRequest) -> User:
        return await self._gate.enter(Request(request.scope, request.receive))

    async def _permit(self, request: HttpRequest, access: Access) -> tuple[str, User]:
        user = await self._enter(request)
        state = f"{request.path_params['project']}/{request.path_params['name']}"
        if not paths.is_name(state):
            raise RefusedError(refusal(404, "path does not exist"))
        self._gate.permit(user, access, state, _origin(request))
        return state, user


def _origin(request: HttpRequest) -> str:
    return request.client.host if request.client else "unknown"


def block_document(block: Block, ring: Keyring | None) -> dict[str, Any]:
    """`valid` is what the server's key says about the signature: None if it cannot know."""
    data = block.hash.encode()
    valid = ring.verify(data, block.signature) if ring and block.signature else None
    return {**asdict(block), "valid": valid}


def summary_document(summary: Summary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "lock": describe(summary.lock) if summary.lock else None,
        "current": version_document(summary.current) if summary.current else None,
    }


def version_document(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "serial": version.serial,
        "lineage": version.lineage,
        "size": version.size,
        "md5": version.md5,
        "who": version.who,
        "from": version.origin,
        "at": _moment(version.at),
        "note": version.note,
        "encrypted": bool(version.sealed_key),
    }


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > LONGEST_NUMBER:
        raise RefusedError(refusal(400, "a version is a number, like ?version=7"))
    return int(text)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _json(document: dict[str, Any] | list[Any]) -> HttpResponse:
    return _http(document_response(document))


def _http(response: Response) -> HttpResponse:
    headers = {key.decode(): value.decode() for key, value in response.headers}
    if response.stream is not None:
        headers["content-length"] = str(response.length)
        return StreamingResponse(response.stream, response.status, headers)
    return HttpResponse(response.body, response.status, headers)


async def _refused(_: HttpRequest, error: Exception) -> HttpResponse:
    assert isinstance(error, RefusedError)
    return _http(error.response)


async def _failed(_: HttpRequest, error: Exception) -> HttpResponse:
    assert isinstance(error, TalopsError)
    if isinstance(error, BadLockError):
        return _http(refusal(400, error.what, error.hint or ""))
    if isinstance(error, UnreachableError):
        return _http(refusal(503, "the store does not answer", "retry"))
    return _http(refusal(500, error.what, error.hint or ""))

"""Answers of a state server of wrong shapes, for every call of its client and of `audit verify`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.targets.answers import Sent, Transport, damaged_answer

from talops.errors import TalopsError
from talops.statestore.audit.chain import GENESIS, Mark, link
from talops.statestore.backends.audit import Witness, prove
from talops.statestore.backends.http import HttpBackend, HttpSettings
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Iterator

    import httpx

VERSION = {
    "version": 7,
    "serial": 3,
    "lineage": "a-b",
    "size": 120,
    "md5": "d41d8cd98f00b204e9800998ecf8427e",
    "who": "alice",
    "from": "192.0.2.7",
    "at": "2026-11-01T10:00:00.000+00:00",
    "note": "",
    "encrypted": True,
}
LOCK = {"ID": "a", "Who": "alice@pc", "Operation": "apply", "Created": "2026-11-01T10:00:00Z"}
STATE = {"name": "homelab/demo", "lock": LOCK, "current": VERSION}
ENTRY = {
    "at": "2026-11-01T10:00:00.000+00:00",
    "who": "alice",
    "from": "192.0.2.7",
    "action": "read",
    "state": "homelab/demo",
    "detail": "",
}
FIRST = link(
    Mark(0, GENESIS), [AuditEntry(1.0, "alice", "192.0.2.7", "read", "homelab/demo")], None
)
BLOCK = {
    "number": FIRST.number,
    "previous": FIRST.previous,
    "content": FIRST.content,
    "hash": FIRST.hash,
    "signature": "",
    "valid": None,
}
HEAD = {"number": 1, "hash": FIRST.hash}
# The end of a path → what the server answers there.
RIGHT: dict[str, Any] = {
    "/-/states": [STATE, {"name": "homelab/b", "lock": None, "current": None}],
    "/versions": [VERSION],
    "/versions/7": {"version": 4, "serial": 3, "lineage": "a-b", "resources": []},
    "/rollback": VERSION,
    "/-/audit": [ENTRY],
    "/-/audit/blocks": {"head": HEAD, "signed": False, "blocks": [BLOCK]},
    "/homelab/demo": {"version": 4, "serial": 3, "lineage": "a-b", "resources": []},
    "/homelab/demo/lock": LOCK,
}
FAILURE = {"error": "the state is locked", "hint": "wait", **LOCK}


async def proof(backend: HttpBackend) -> object:
    with tempfile.TemporaryDirectory(prefix="talops-fuzz-") as folder:
        return await prove(backend, Witness(Path(folder) / "seen.json"))


CALLS: dict[str, Callable[[HttpBackend], Awaitable[Any]]] = {
    "overview": lambda b: b.overview(),
    "read": lambda b: b.read("demo"),
    "version": lambda b: b.read("demo", "7"),
    "versions": lambda b: b.versions("demo"),
    "write": lambda b: b.write("demo", b"{}"),
    "rollback": lambda b: b.rollback("demo", "7"),
    "unlock": lambda b: b.unlock("demo", "a"),
    "audit": lambda b: b.audit(),
    "proof": proof,
}


def known(request: httpx.Request) -> str:
    """The longest end of the path that is known."""
    return max((end for end in RIGHT if request.url.path.endswith(end)), key=len, default="")


def right(request: httpx.Request) -> Any:
    return RIGHT.get(known(request), {})


class StateClient:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._asked: dict[str, list[str]] = {}

    def close(self) -> None:
        self._loop.close()

    def make(self, rng: random.Random) -> tuple[str, str, Sent]:
        call = rng.choice(list(CALLS))
        path = rng.choice(self._paths(call))
        return call, path, damaged_answer(rng, json.loads(json.dumps(RIGHT[path])), FAILURE)

    def _paths(self, call: str) -> list[str]:
        """What a call reads of a server that answers right."""
        if call not in self._asked:
            transport = Transport(right)
            with contextlib.suppress(TalopsError):
                self._loop.run_until_complete(self._with(transport, call))
            self._asked[call] = sorted({known(request) for request in transport.asked} - {""})
        return self._asked[call]

    def run(self, case: tuple[str, str, Sent]) -> Iterator[object]:
        call, path, sent = case
        return iter([self._loop.run_until_complete(self._with(Transport(right, path, sent), call))])

    async def _with(self, transport: Transport, call: str) -> object:
        settings = HttpSettings("https://states.test/homelab", ("demo",))
        backend = HttpBackend(settings, transport=transport)
        try:
            return await CALLS[call](backend)
        finally:
            await backend.close()

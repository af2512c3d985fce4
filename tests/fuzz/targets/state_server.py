"""Requests to the state server: paths, headers, bodies and lock ids, below the HTTP parser.

No user of this server is known by a wrong password: verifying one is slow on purpose.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.campaign import WrongError
from tests.fuzz.mutations import HOSTILE_TEXTS, damaged, scrambled
from tests.statestore.access.people import basic, person, save
from tests.statestore.helpers import lock_document, md5_header, state_body

from talops.statestore.application import Application, Limits
from talops.statestore.audit.chain import Verifier
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard
from talops.statestore.sqlite import SqliteStore

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

STATES = [f"/p{project}/s{name}" for project in range(3) for name in range(8)]
METHODS = ("GET", "HEAD", "POST", "PUT", "LOCK", "UNLOCK", "DELETE", "PATCH", "OPTIONS", "\x1b")
ADMIN = (
    *("/-/states", "/-/audit", "/-/audit/blocks", "/-/rewrap", "/healthz", "/readyz", "/metrics"),
    *("/-/states{}/versions", "/-/states{}/versions/1", "/-/states{}/rollback", "/-/../x"),
)
HEADERS = (
    (b"content-md5", b"!!!!"),
    (b"content-md5", b"A" * 24),
    (b"if-none-match", b'"' * 50),
    (b"content-length", b"-1"),
    (b"content-length", b"9" * 30),
    (b"content-length", b"\xff"),
    (b"authorization", b"Basic \x80\x81"),
    (b"authorization", b"Bearer x"),
    (b"authorization", b"Basic Og=="),
    (b"host", b"[::1"),
    (b"origin", b"http://x"),
    (b"", b""),
)
RING = Keyring([MasterKey(b"k" * 32)])
BODY_LIMIT = 1 << 20
# Retention never removes versions here, so that a store would only become slower.
FRESH_STORE_AFTER = 4000
MOST_PIECES = 4


class StateServer:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._folder = Path(tempfile.mkdtemp(prefix="talops-fuzz-", dir=_memory()))
        self._book = save(
            self._folder / "users.json", person("alice"), person("bob", write=("p1/*",))
        )
        self._served = 0
        self._store: SqliteStore | None = None

    def close(self) -> None:
        self._stop()
        self._loop.close()
        shutil.rmtree(self._folder)

    def make(self, rng: random.Random) -> dict[str, Any]:
        method, path, query, body = _request(rng)
        headers: list[tuple[bytes, bytes]] = []
        if rng.random() < 0.9:
            user = rng.choice(["alice", "alice", "alice", "bob"])
            headers.append((b"authorization", basic(user, f"{user}-pw")))
        if rng.random() < 0.3:
            headers.append((b"content-md5", md5_header(body)["Content-MD5"].encode()))
        if rng.random() < 0.3:
            headers.insert(rng.randint(0, len(headers)), rng.choice(HEADERS))
        headers.append((b"content-length", b"%d" % len(body)))
        return {
            "method": method,
            "path": path,
            "query": query,
            "headers": headers,
            "body": body,
            "pieces": rng.randint(1, MOST_PIECES),
            "gone": rng.random() < 0.03,
            "client": rng.choice([("10.0.0.1", 5), ("10.0.0.2", 5), None]),
        }

    def run(self, case: dict[str, Any]) -> Iterator[object]:
        if self._served % FRESH_STORE_AFTER == 0:
            self._stop()
            self._loop.run_until_complete(self._start())
        self._served += 1
        status, headers, body = self._loop.run_until_complete(self._ask(case))
        _check(case, status, headers, body)
        yield status
        yield body.decode() if headers.get(b"content-type", b"").startswith(b"text") else ""

    async def _start(self) -> None:
        folder = self._folder / str(self._served)
        self._store = SqliteStore(folder, RING)
        self._application = Application(
            self._store, BodyCipher(RING), Guard(self._book), Limits(body=BODY_LIMIT)
        )

    def _stop(self) -> None:
        """What all of this left in the audit is a chain that holds."""
        if self._store is None:
            return
        store, self._store = self._store, None
        blocks, head = self._loop.run_until_complete(store.blocks(0, 10**9))
        self._loop.run_until_complete(store.close())
        verifier = Verifier(signer=RING)
        verifier.remember(head)
        verifier.read(blocks)
        if problems := verifier.end():
            raise WrongError(f"the audit chain is broken: {problems[:3]}")
        for each in self._folder.iterdir():
            if each.is_dir():
                shutil.rmtree(each)

    async def _ask(self, case: dict[str, Any]) -> tuple[int, dict[bytes, bytes], bytes]:
        sent: list[dict[str, Any]] = []
        size = max(1, -(-len(case["body"]) // case["pieces"]))
        parts = [case["body"][at : at + size] for at in range(0, len(case["body"]), size)] or [b""]
        incoming = [
            {"type": "http.request", "body": part, "more_body": at + 1 < len(parts)}
            for at, part in enumerate(parts)
        ]
        if case["gone"]:
            incoming = [*incoming[:-1], {"type": "http.disconnect"}]

        async def receive() -> dict[str, Any]:
            return incoming.pop(0) if incoming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": case["method"],
            "path": case["path"],
            "raw_path": case["path"].encode(errors="surrogatepass"),
            "root_path": "",
            "scheme": "http",
            "query_string": case["query"],
            "headers": case["headers"],
            "client": case["client"],
            "server": ("127.0.0.1", 80),
        }
        await self._application(scope, receive, send)
        if not sent:
            return 499, {}, b""
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], dict(sent[0]["headers"]), body


def _memory() -> str | None:
    """A disk would only be slower: nothing here is about durability."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _request(rng: random.Random) -> tuple[str, str, bytes, bytes]:
    state = rng.choice(STATES)
    path = rng.choice([state, state, state, state + "/lock", rng.choice(ADMIN).format(state)])
    if rng.random() < 0.15:
        path = scrambled(rng, path.encode(), [b"/-/states/", b"/lock"], most=2).decode(
            errors=rng.choice(["replace", "surrogateescape"])
        )
    lock_id = rng.choice(["a", "b", *HOSTILE_TEXTS])
    query = rng.choice(
        [
            b"",
            b"ID=a",
            f"ID={lock_id}".encode(errors="replace"),
            f"run=demo.run:{lock_id}&ID=a".encode(errors="replace"),
            b"run=demo.run:a",
            f"version={rng.choice(['1', '0', '-1', *HOSTILE_TEXTS])}".encode(errors="replace"),
            b"force=true&ID=a",
            b"after=" + rng.choice([b"0", b"-1", b"9" * 40, b"x"]),
            rng.randbytes(10),
        ]
    )
    return rng.choice(METHODS), path, query, _body(rng, lock_id)


def _body(rng: random.Random, lock_id: str) -> bytes:
    serial = rng.randint(0, 40)
    right: Any = rng.choice(
        [
            json.loads(state_body(serial)),
            lock_document(rng.choice(["a", lock_id])),
            {**lock_document("a"), "Lease": rng.choice([0.001, 60, -1, 1e9])},
            {"ID": lock_id},
        ]
    )
    kind = rng.random()
    if kind < 0.45:
        return json.dumps(right).encode()
    if kind < 0.8:
        return json.dumps(damaged(rng, right)).encode()
    if kind < 0.9:
        return scrambled(rng, json.dumps(right).encode())
    padding = rng.choice([0, 150_000, BODY_LIMIT + 10])
    return rng.choice([b"", b"{" * 50_000, b"[" * 100_000, state_body(serial, padding=padding)])


def _check(case: dict[str, Any], status: int, headers: dict[bytes, bytes], body: bytes) -> None:
    if status >= 500:
        raise WrongError(f"status {status}: {body[:300]!r}")
    if status == 499:
        return
    for name, value in headers.items():
        if b"\n" in name + value or b"\r" in name + value:
            raise WrongError(f"a header is split: {name!r}: {value!r}")
    length = headers.get(b"content-length")
    if length is not None and case["method"] != "HEAD" and status != 304:
        assert int(length) == len(body), (length, len(body))
    if headers.get(b"content-type", b"").startswith(b"application/json") and body:
        json.loads(body)

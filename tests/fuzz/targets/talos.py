"""Answers of Talos nodes: recorded messages damaged, below grpclib's own decoding."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from tests.fuzz.mutations import HOSTILE_TEXTS, rewired
from tests.recordings.talos import exchanges
from tests.talos.conftest import Authority

from talops.talos import calling, kinds
from talops.talos.client import Talos
from talops.talos.resources import Kind
from talops.talos.transport import Link
from talops.talos.wire import cosi_pb2

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

KINDS = {kind.type: kind for kind in vars(kinds).values() if isinstance(kind, Kind)}
GOOD = [(":status", "200"), ("content-type", "application/grpc")]
DONE = [("grpc-status", "0")]
MOST_MESSAGES = 6
MOST_ITEMS = 1000


async def items(stream: AsyncGenerator[Any]) -> list[Any]:
    async with aclosing(stream) as found:
        return [item async for item in found]


# The last part of a method's name → the calls of the client that read its answer.
CALLS: dict[str, Callable[[Talos], Awaitable[Any]]] = {
    "Get": lambda t: t.resources.get("a", "b", "c"),
    "List": lambda t: t.resources.list("a", "b"),
    "Watch": lambda t: items(t.resources.watch("a", "b")),
    "Version": lambda t: t.version(),
    "Hostname": lambda t: t.services.hostname(),
    "ServiceList": lambda t: t.services.list(),
    "ServiceStop": lambda t: t.services.stop("x"),
    "EtcdMemberList": lambda t: t.etcd.members(),
    "EtcdStatus": lambda t: t.etcd.status(),
    "EtcdAlarmList": lambda t: t.etcd.alarms(),
    "Read": lambda t: t.files.boot_id(),
    "Disks": lambda t: t.storage.disks(),
    "Time": lambda t: t.cluster.clock(),
    "Events": lambda t: items(t.logs.events()),
    "Logs": lambda t: items(t.logs.logs("x")),
    "Dmesg": lambda t: items(t.logs.dmesg()),
    "Kubeconfig": lambda t: t.machine.kubeconfig(),
    "ApplyConfiguration": lambda t: t.machine.apply_configuration(""),
    # No recording has these; the answers of others have wrong types for them.
    "files": lambda t: items(t.files.list("/")),
    "exists": lambda t: t.files.exists("/a/b"),
    "health": lambda t: items(t.cluster.health()),
    "certificate": lambda t: t.machine.client_configuration(),
    "reset": lambda t: t.machine.reset(),
    "bootstrap": lambda t: t.machine.bootstrap(),
    "pull": lambda t: t.upgrade.pull("x"),
    "install": lambda t: items(t.upgrade.install("x")),
    "upgrade": lambda t: t.upgrade.legacy("x"),
    "definitions": lambda t: t.resources.resolve("disk"),
    "fan out": lambda t: t.caller.fan_out(
        t.services._stub.Version, calling_empty(), ["10.0.0.1", "10.0.0.2"]
    ),
}


def calling_empty() -> Any:
    from google.protobuf.empty_pb2 import Empty

    return Empty()


class TalosNode:
    def __init__(self) -> None:
        recorded = [e for e in exchanges() if e.responses]
        self._recorded = [
            (name, e.method, e.responses)
            for e in recorded
            if (name := e.method.rpartition("/")[2]) in CALLS
        ]
        # Of 812 exchanges, 672 are lists of resources: the others would hardly be chosen.
        self._others = [each for each in self._recorded if not each[1].startswith("/cosi")]
        self._typed = [e for e in self._recorded if e[0] == "List" and _type_of(e[2]) in KINDS]
        self._pauses, calling.PAUSES = calling.PAUSES, ()  # type: ignore[assignment]
        self._loop = asyncio.new_event_loop()
        self._credentials = Authority().credentials()

    def close(self) -> None:
        calling.PAUSES = self._pauses
        self._loop.close()

    def make(self, rng: random.Random) -> dict[str, Any]:
        name, method, responses = rng.choice(
            rng.choice([self._recorded, self._others, self._typed])
        )
        if name == "List" and not method.startswith("/cosi"):
            name = "files"
        sent = [rng.choice(responses) for _ in range(rng.randint(1, MOST_MESSAGES))]
        at = rng.randrange(len(sent))
        sent[at] = rewired(rng, sent[at])
        kind = rng.choice(list(KINDS))
        if name == "List":
            type_ = _type_of(responses)
            kind = type_ if type_ in KINDS and rng.random() < 0.8 else kind
        body = b"".join(_prefixed(rng, each) for each in sent)
        if rng.random() < 0.1:
            body = body[: rng.randint(0, len(body))]
        if rng.random() < 0.2:
            name = rng.choice(list(CALLS))
        return {
            "call": name,
            "kind": kind,
            "headers": _headers(rng, GOOD),
            "body": body,
            "trailers": _headers(rng, DONE),
        }

    def run(self, case: dict[str, Any]) -> Iterator[object]:
        return iter([self._loop.run_until_complete(self._run(case))])

    async def _run(self, case: dict[str, Any]) -> object:
        link = _FakeLink("10.0.0.1", 50000, self._credentials)
        link.answer = case
        talos = Talos(link)
        if case["call"] == "List":
            kind = KINDS[case["kind"]]
            return await talos.resources.all(kind)
        if case["call"] == "Get":
            return await talos.resources.find(KINDS[case["kind"]], "id")
        return await CALLS[case["call"]](talos)


def _type_of(responses: tuple[bytes, ...]) -> str:
    try:
        return str(cosi_pb2.ListResponse.FromString(responses[0]).resource.metadata.type)
    except DecodeError:  # the list of files has the same name
        return ""


def _headers(rng: random.Random, good: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Mostly the right ones, so that the messages are read."""
    if rng.random() < 0.9:
        return good
    found = [*good, ("grpc-message", rng.choice(["%1b[31m", "%zz%ff", "no"]))]
    at = rng.randrange(len(found))
    value = rng.choice([*HOSTILE_TEXTS, "13", "99999999999999999999", "application/json", "404"])
    match rng.randrange(3):
        case 0:
            del found[at]
        case 1:
            found[at] = (found[at][0], value)
        case 2:
            name = rng.choice(["grpc-status", "x-bin", "content-type", "", ":status"])
            found.append((name, value))
    return found


def _prefixed(rng: random.Random, message: bytes) -> bytes:
    flag, length = b"\0", len(message)
    if rng.random() < 0.03:
        flag = rng.choice([b"\x01", b"\xff", b"\0"])
        length = rng.choice([0, length + 1, max(0, length - 1), 2**25 + 1, 2**32 - 1])
    return flag + length.to_bytes(4) + message


class _FakeStream:
    """What grpclib's protocol has for one call, with everything received already."""

    closable = False

    def __init__(self, case: dict[str, Any]) -> None:
        from grpclib.protocol import Buffer

        self.connection = self
        self._transport = self
        self.headers: Any = None
        self.trailers: Any = None
        self.messages_sent = self.messages_received = 0
        self._case = case
        self._buffer = Buffer(lambda _: None)
        if case["body"]:
            self._buffer.add(case["body"], len(case["body"]))
        self._buffer.eof()

    def is_closing(self) -> bool:
        return False

    def get_peer(self) -> None:
        return None

    async def send_request(self, *_: Any, **__: Any) -> Callable[[], None]:
        return lambda: None

    async def send_data(self, *_: Any, **__: Any) -> None:
        pass

    async def end(self) -> None:
        pass

    async def recv_headers(self) -> Any:
        return self._case["headers"]

    async def recv_data(self, size: int) -> bytes:
        return await self._buffer.read(size)

    async def recv_trailers(self) -> Any:
        return self._case["trailers"]


class _FakeLink(Link):
    """Connected to nothing; the next call gets `answer`."""

    answer: dict[str, Any]

    @property
    def connected(self) -> bool:
        return True

    async def __connect__(self) -> Any:
        return self

    @property
    def processor(self) -> Any:
        return self

    @property
    def connection(self) -> Any:
        return self

    def create_stream(self, wrapper: Any) -> Any:
        return _FakeStream(self.answer)

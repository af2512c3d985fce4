"""Lab nodes answer as the real Talos 1.13.9 nodes answered when they were recorded.

Status and error text are equal, and the same fields are set in the answers. What stays different
stands in tests/recordings/talos-exceptions.toml, each line with its reason.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.recorded_world import RecordedWorld, recorded_answer
from tests.lab.talos.shapes import shape
from tests.recordings import talos as recordings

from talops.lab.talos.resources.definitions import DEFINITIONS, meta
from talops.talos.wire import cosi_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lab.talos.recorded_world import Answer
    from tests.recordings.talos import Exchange

EXCEPTIONS = Path(recordings.__file__).with_name("talos-exceptions.toml")
LIMIT = 60
_PORT = re.compile(r":\d+->")


@dataclass(frozen=True)
class Difference:
    """`what` is status, message, or a field with + (only in the lab) or - (only in the real)."""

    call: str
    who: str
    what: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.call}  {self.who}  {self.what}  {self.detail}"


@dataclass(frozen=True)
class Exemption:
    """One line of the file; its parts are patterns."""

    call: str
    who: str
    what: str
    detail: str
    reason: str

    def covers(self, found: Difference) -> bool:
        own = (self.call, self.who, self.what, self.detail)
        theirs = (found.call, found.who, found.what, found.detail)
        return all(fnmatchcase(t, o) for o, t in zip(own, theirs, strict=True))


def exceptions() -> list[Exemption]:
    rows = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["exceptions"]
    return [Exemption(**{"who": "*", "detail": "*", **row}) for row in rows]


def name_of(exchange: Exchange) -> str:
    method = exchange.method.rpartition("/")[2]
    if exchange.method.startswith("/cosi.resource.State/"):
        return f"{method} {cosi_pb2.GetRequest.FromString(exchange.request).type}"
    return method


def differences(exchange: Exchange, real: Answer, lab: Answer) -> Iterator[Difference]:
    call, who = name_of(exchange), f"{exchange.node}/{exchange.auth}"
    if real.status != lab.status:
        detail = f"real {real.status} {real.message!r}, lab {lab.status} {lab.message!r}"
        yield Difference(call, who, "status", detail)
        return
    if _PORT.sub(":0->", real.message) != _PORT.sub(":0->", lab.message):
        yield Difference(call, who, "message", f"real {real.message!r}, lab {lab.message!r}")
    theirs, ours = shape(exchange.method, real.responses), shape(exchange.method, lab.responses)
    for path in sorted(theirs - ours):
        yield Difference(call, who, f"-{path}")
    for path in sorted(ours - theirs):
        yield Difference(call, who, f"+{path}")


@pytest.mark.slow
async def test_nodes_answer_as_recorded(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """All 812 requests, to nodes in the same states and with the same roles."""

    async def find(name: str) -> Path:
        return tool(name)

    world = RecordedWorld(tmp_path, find)
    found: list[Difference] = []
    try:
        await world.start()
        for exchange in recordings.exchanges():
            real, lab = recorded_answer(exchange), await world.ask(exchange)
            found += differences(exchange, real, lab)
    finally:
        await world.close()
    listed = exceptions()
    fresh = [str(d) for d in found if not any(e.covers(d) for e in listed)]
    assert not fresh, "\n".join(["the lab differs from real nodes:", *fresh])
    idle = [e for e in listed if not any(e.covers(d) for d in found)]
    assert not idle, f"listed as different, but equal: {idle}"


def test_exceptions_are_few_and_have_reasons() -> None:
    """Each line says why a user can live with it."""
    listed = exceptions()
    assert len(listed) <= LIMIT
    assert all(len(e.reason.split()) >= 4 for e in listed)


def test_kinds_are_defined_as_recorded() -> None:
    """Names, aliases, columns and sensitivity of all 167 kinds, byte for byte."""
    real = {}
    for exchange in recordings.exchanges():
        if name_of(exchange) == "List ResourceDefinitions.meta.cosi.dev":
            for answer in exchange.responses:
                resource = cosi_pb2.ListResponse.FromString(answer).resource
                real[resource.metadata.id] = resource.spec.proto_spec
    lab = {s.item.id: s.item.proto for s in meta(13).list(*DEFINITIONS)}
    assert lab == real

"""Checks that look together share one connection to each node and one to Kubernetes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, Self

import pytest

from talops.errors import UnreachableError
from talops.site.connections import Connections

NODES: Any = [SimpleNamespace(name=name) for name in ("cp-1", "w-1")]


class Connection:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Fleet:
    def __init__(self) -> None:
        self.made: list[Connection] = []

    def talos(self, node: Any) -> Connection:
        self.made.append(Connection(node.name))
        return self.made[-1]


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet()

    async def of(_: Connections) -> Fleet:
        return made

    monkeypatch.setattr(Connections, "fleet", of)
    return made


async def _name(talos: Any) -> str:
    await asyncio.sleep(0)
    return str(talos.name)


async def _no_answer(_: Any) -> str:
    raise UnreachableError("silent")


def connections() -> Connections:
    nothing: Any = None
    return Connections(nothing, nothing)


async def test_one_look_one_connection_each(fleet: Fleet) -> None:
    """In parallel and one after the other; all are closed at the end of the look."""
    asked = connections()
    async with asked.one_look():
        both = await asyncio.gather(*(asked.ask(NODES, _name) for _ in range(3)))
        assert all(answers == {"cp-1": "cp-1", "w-1": "w-1"} for answers in both)
        assert isinstance((await asked.ask(NODES, _no_answer))["w-1"], UnreachableError)
        assert not any(each.closed for each in fleet.made)
    assert sorted(each.name for each in fleet.made) == ["cp-1", "w-1"]
    assert all(each.closed for each in fleet.made)


async def test_looks_share_nothing(fleet: Fleet) -> None:
    """The next look connects again, and each request outside of one does, too."""
    asked = connections()
    for _ in range(2):
        async with asked.one_look():
            await asked.ask(NODES, _name)
    await asked.ask(NODES, _name)
    await asked.ask(NODES, _name)
    assert len(fleet.made) == 4 * len(NODES)
    assert all(each.closed for each in fleet.made)


async def test_a_look_that_fails_closes_too(fleet: Fleet) -> None:
    """No connection outlives its look."""
    asked = connections()

    async def broken() -> None:
        async with asked.one_look():
            await asked.ask(NODES, _name)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await broken()
    assert all(each.closed for each in fleet.made)

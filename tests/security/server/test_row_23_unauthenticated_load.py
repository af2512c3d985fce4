"""Clients without a login cost neither memory, nor its turn, nor its descriptors (row 23)."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.statestore.access.people import login, person, save
from tests.statestore.helpers import client_of, state_body
from tests.statestore.test_hostile import assert_alive, served
from tests.statestore.wire import Wire

from talops.statestore import paths
from talops.statestore.access import crowd as crowds
from talops.statestore.access.crowd import Crowd
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from talops.statestore.sqlite import SqliteStore


async def test_paths_of_strangers_are_not_remembered(embedded: SqliteStore, tmp_path: Path) -> None:
    """Authentication comes first; and no path longer than a name is kept at all."""
    guard = Guard(save(tmp_path / "u", person("alice")))
    before = paths._parse.cache_info().currsize
    async with client_of(Application(embedded, BodyCipher(None), guard, Limits())) as client:
        for number in range(20):
            assert (await client.get(f"/a/{number}" + "x" * 60_000)).status_code == 401
            assert (await client.get(f"/unknown/{number}")).status_code == 401
        long = await client.get("/a/" + "x" * 60_000, auth=login("alice"))
    assert long.status_code == 404
    assert paths._parse.cache_info().currsize == before


async def test_a_slow_body_without_md5_blocks_no_other(tmp_path: Path) -> None:
    """While one client sends a large body slowly, the large body of another one is stored."""
    async with served(tmp_path) as port:
        body = state_body(1, padding=400_000)
        _, slow = await asyncio.open_connection("127.0.0.1", port)
        slow.write(f"POST /a/slow HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        slow.write(body[:200_000])
        await slow.drain()
        reader, quick = await asyncio.open_connection("127.0.0.1", port)
        quick.write(f"POST /a/quick HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        quick.write(body)
        async with asyncio.timeout(15):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        for writer in (slow, quick):
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def test_silent_connections_of_one_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest silent ones make room for the next: none of them cuts others off."""
    monkeypatch.setattr(crowds, "PER_ADDRESS", 20)
    async with served(tmp_path) as port:
        busy = Wire(port)
        assert (await busy.ask("GET", "/healthz")).status == 200
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
        await assert_alive(port)
        await busy.close()
        for _, writer in silent:
            writer.close()


@dataclass(eq=False)
class Member:
    address: str
    idle_since: float | None
    dropped: bool = False

    def drop(self) -> None:
        self.dropped = True


def test_the_longest_idle_one_of_the_address_goes() -> None:
    """Neither a connection in use nor one of another address."""
    crowd = Crowd(capacity=10, per_address=3)
    busy, old, young = Member("a", None), Member("a", 1.0), Member("a", 2.0)
    other = Member("b", 0.0)
    assert all(crowd.enter(each) for each in (other, busy, young, old))
    assert crowd.enter(Member("a", 3.0))
    assert [each.dropped for each in (busy, old, young, other)] == [False, True, False, False]


def test_an_address_with_only_busy_connections_gets_no_more() -> None:
    """The next connection is closed at once; other addresses do not notice."""
    crowd = Crowd(capacity=10, per_address=2)
    assert [crowd.enter(Member("a", None)) for _ in range(3)] == [True, True, False]
    assert crowd.enter(Member("b", None))


def test_a_full_server_takes_from_the_address_that_has_the_most() -> None:
    """A single newcomer gets in while one address holds everything."""
    crowd = Crowd(capacity=6, per_address=5)
    many = [Member("a", float(n)) for n in range(5)]
    few = Member("b", 0.0)
    assert all(crowd.enter(each) for each in (*many, few))
    assert crowd.enter(Member("c", 9.0))
    assert [each.dropped for each in (*many, few)] == [True] + [False] * 5


def test_a_proxy_may_hold_many() -> None:
    """Its connections are those of all its clients."""
    crowd = Crowd(capacity=10, per_address=1, exempt=lambda address: address == "proxy")
    assert all(crowd.enter(Member("proxy", 0.0)) for _ in range(5))
    members = [Member("a", None), Member("a", None)]
    assert [crowd.enter(each) for each in members] == [True, False]
    crowd.leave(members[0])
    assert crowd.enter(members[1])


def test_descriptors_are_left_for_the_store() -> None:
    """The capacity is below the limit of the process."""
    import resource

    assert 0 < crowds.capacity() < resource.getrlimit(resource.RLIMIT_NOFILE)[0]

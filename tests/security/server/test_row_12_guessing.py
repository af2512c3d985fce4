"""Strangers who guess passwords delay and lock out only themselves (row 12)."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from tests.statestore.access.people import basic, person, save
from tests.statestore.test_access import Clock

from talops.errors import TalopsError
from talops.statestore import guard as guards
from talops.statestore.access import failures
from talops.statestore.access.network import client_address, network_of, networks
from talops.statestore.access.turns import WAITING, CrowdedError, Turns
from talops.statestore.guard import Denied, Guard
from talops.statestore.users import User

if TYPE_CHECKING:
    from pathlib import Path


async def test_guesses_for_one_user_block_no_other(tmp_path: Path) -> None:
    """Ten bad logins as alice from one address: bob gets in from there, alice from elsewhere."""
    guard = Guard(save(tmp_path / "u", person("alice"), person("bob")), clock=Clock())
    for _ in range(failures.ALLOWED):
        await guard.verify(basic("alice", "guess"), "10.0.0.1")
    blocked = await guard.verify(basic("alice", "alice-pw"), "10.0.0.1")
    assert isinstance(blocked, Denied)
    assert blocked.retry_after
    assert isinstance(await guard.verify(basic("bob", "bob-pw"), "10.0.0.1"), User)
    assert isinstance(await guard.verify(basic("alice", "alice-pw"), "10.0.0.2"), User)


@pytest.mark.parametrize("late", [True, False], ids=["first login last", "first login first"])
async def test_a_flood_of_guesses_delays_a_login_by_two_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """150 guesses from 150 addresses at once, and a right first login: it does not wait in line."""
    checked: list[str] = []
    gate = threading.Event()

    def slow(password: str, _: str) -> bool:
        gate.wait(30)
        checked.append(password)
        return password == "alice-pw"

    monkeypatch.setattr(guards, "verify_password", slow)
    guard = Guard(save(tmp_path / "u", person("alice")), clock=Clock())

    def guesses() -> list[asyncio.Task[User | Denied]]:
        return [
            asyncio.create_task(guard.verify(basic("alice", f"g{n}"), f"10.0.{n}.1"))
            for n in range(150)
        ]

    right_first = None if late else asyncio.create_task(_login(guard))
    flood = guesses()
    await asyncio.sleep(0)
    right = right_first or asyncio.create_task(_login(guard))
    await asyncio.sleep(0)
    gate.set()
    assert isinstance(await right, User)
    assert checked.index("alice-pw") <= 1
    answers = await asyncio.gather(*flood)
    assert len(checked) <= WAITING + 2, "most guesses are not even tried"
    assert {type(answer) for answer in answers} == {Denied}


async def _login(guard: Guard) -> User | Denied:
    return await guard.verify(basic("alice", "alice-pw"), "192.168.1.5")


async def test_turns_go_to_the_network_that_used_the_fewest() -> None:
    """A second wave from the same networks waits behind a newcomer; a known network goes first."""
    turns, order = Turns(), list[str]()

    async def one(network: str) -> None:
        async with turns.turn(network):
            order.append(network)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(f"n{n}") for n in range(5)))
    order.clear()
    turns.succeeded("home")
    waves = [one(f"n{n}") for n in range(5)] + [one("new"), one("home")]
    await asyncio.gather(*waves)
    assert order[1:3] == ["home", "new"]


async def test_one_network_cannot_fill_the_queue() -> None:
    """Beyond a few waiting logins, the next one of a network is refused at once."""
    turns = Turns()

    async def wait(network: str) -> None:
        async with turns.turn(network):
            await asyncio.sleep(0)

    outcomes = await asyncio.gather(
        *(wait("n") for _ in range(20)), wait("other"), return_exceptions=True
    )
    assert sum(isinstance(outcome, CrowdedError) for outcome in outcomes) == 15
    assert outcomes[-1] is None
    await wait("n")


async def test_a_login_that_is_given_up_leaves_the_queue() -> None:
    """A client that disconnects while it waits, or when its turn comes, blocks no other."""
    turns = Turns()

    async def wait(network: str) -> None:
        async with turns.turn(network):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(wait(f"n{n}")) for n in range(6)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.wait_for(wait("after"), 10)


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "found"),
    [
        ("9.9.9.9", "1.2.3.4", [], "9.9.9.9"),
        ("9.9.9.9", "1.2.3.4", ["10.0.0.0/8"], "9.9.9.9"),
        ("10.0.0.1", "1.2.3.4", ["10.0.0.0/8"], "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", ["10.0.0.0/8"], "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4, 10.0.0.2", ["10.0.0.0/8"], "1.2.3.4"),
        ("10.0.0.1", "1.2.3.4, nonsense", ["10.0.0.0/8"], "10.0.0.1"),
        ("10.0.0.1", "", ["10.0.0.0/8"], "10.0.0.1"),
        ("::1", "2001:db8::7", ["::1"], "2001:db8::7"),
    ],
)
def test_only_trusted_proxies_name_the_client(
    peer: str, forwarded: str, proxies: list[str], found: str
) -> None:
    """A header that a client made up changes nothing."""
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    assert client_address(peer, headers, networks(proxies)) == found


def test_an_ipv6_host_has_one_network() -> None:
    """Its 2^64 addresses count as one; an IPv4 address counts alone."""
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") == "2001:db8::/64"
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == "10.0.0.1"
    with pytest.raises(TalopsError, match="not an address"):
        networks(["proxy"])

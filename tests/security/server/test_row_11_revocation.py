"""Removed users are out, also if the file is broken, gone or open to others (row 11)."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.statestore.access.people import basic, login, person, save
from tests.statestore.helpers import client_of
from tests.statestore.running import running
from tests.statestore.test_access import Clock

from talops.errors import DeniedError, TalopsError
from talops.files import write_atomic
from talops.redaction import Secret
from talops.statestore import guard as guards
from talops.statestore import users
from talops.statestore.access.private import require_private
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard
from talops.statestore.stores import StoreAddress
from talops.statestore.tls import self_made
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.statestore.sqlite import SqliteStore

ALICE = basic("alice", "alice-pw")


def broken(path: Path) -> None:
    write_atomic(path, "{", mode=0o600)


def deleted(path: Path) -> None:
    path.unlink()


def open_to_all(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("harm", [broken, deleted, open_to_all])
async def test_a_file_that_cannot_be_used_rejects_every_user(tmp_path: Path, harm: object) -> None:
    """Its last users stay for a minute, which the log says; then all are refused."""
    book, clock, said = save(tmp_path / "users.json", person("alice")), Clock(), list[str]()
    guard = Guard(book, clock=clock, say=said.append)
    await guard.verify(ALICE, "10.0.0.1")
    assert callable(harm)
    harm(book)
    clock.now += 2
    assert guard.known(ALICE) is not None
    assert "cannot read the users file" in said[0]
    clock.now += guards.STALE_SECONDS
    assert guard.known(ALICE) is None
    denied = await guard.verify(ALICE, "10.0.0.1")
    assert isinstance(denied, guards.Denied)
    assert denied.unavailable
    save(book, person("bob"))
    clock.now += 2
    assert guard.known(ALICE) is None
    assert isinstance(await guard.verify(basic("bob", "bob-pw"), "10.0.0.1"), users.User)
    assert "can be read again" in said[-1]


async def test_the_answer_is_503_not_an_empty_state(
    embedded: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients retry a 503, and never take it for "no state"."""
    monkeypatch.setattr(guards, "STALE_SECONDS", 0.0)
    book, clock = save(tmp_path / "users.json", person("alice")), Clock()
    guard = Guard(book, clock=clock)
    async with client_of(Application(embedded, BodyCipher(None), guard, Limits())) as client:
        assert (await client.get("/a/b", auth=login("alice"))).status_code == 404
        deleted(book)
        clock.now += 2
        assert (await client.get("/a/b", auth=login("alice"))).status_code in {404, 503}
        clock.now += 2
        assert (await client.get("/a/b", auth=login("alice"))).status_code == 503


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o620, 0o604, 0o601])
def test_loose_modes_are_refused(tmp_path: Path, mode: int) -> None:
    """A users file or a key that others can read or change is not used."""
    book = save(tmp_path / "users.json", person("alice"))
    book.chmod(mode)
    with pytest.raises(DeniedError, match="other users can access") as caught:
        users.load(book)
    assert caught.value.hint == f"chmod 600 {book}"


def test_a_key_that_others_can_read_stops_the_server(tmp_path: Path) -> None:
    """`openssl … > state.key` makes a 0644 file with most umasks: the server names the remedy."""
    key = tmp_path / "state.key"
    key.write_text("A" * 43 + "=\n")
    key.chmod(0o644)
    with pytest.raises(TalopsError, match="mode 0644"):
        require_private(key, "the key file")
    key.chmod(0o600)
    require_private(key, "the key file")
    with (
        pytest.raises(RuntimeError, match="chmod 600"),
        running(StoreAddress(Secret(f"sqlite:{tmp_path / 's'}")), "--key-file", str(_loose(key))),
    ):
        pass


def _loose(key: Path) -> Path:
    key.chmod(0o644)
    return key


def test_the_documented_way_makes_a_private_key() -> None:
    """The page sets the mode before the key is written."""
    text = (Path(__file__).parents[3] / "docs" / "state.md").read_text(encoding="utf-8")
    assert "(umask 077; openssl rand -base64 32 > state.key)" in text


@pytest.mark.slow
async def test_sighup_reads_users_and_certificate_again(tmp_path: Path) -> None:
    """Without a restart: the removed user is out, new connections see the new certificate."""
    book = save(tmp_path / "users.json", person("alice"), person("bob"))
    files = self_made(tmp_path / "tls", ["127.0.0.1"])
    address = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    words = ("--users", str(book), "--tls-certificate", str(files.certificate))
    with running(address, *words, "--tls-key", str(files.key)) as server:
        first = await asyncio.to_thread(_status, server.address, files.certificate, "alice")
        os.unlink(files.certificate)  # noqa: PTH108  (beside the next line)
        self_made(tmp_path / "tls", ["127.0.0.1"])
        save(book, person("bob"))
        server.process.send_signal(signal.SIGHUP)

        async def renewed() -> Ready[None] | NotYet:
            try:
                found = await asyncio.to_thread(_status, server.address, files.certificate, "alice")
            except httpx.ConnectError as error:
                return NotYet(str(error))
            return Ready(None) if found == 401 else NotYet(f"HTTP {found}")

        await wait_for("the new certificate", renewed, timeout=30, interval=0.05)
        assert first == 404
        assert _status(server.address, files.certificate, "bob") == 404
        said = server.stop()
    assert "users and certificate were read again" in said


def _status(address: str, certificate: Path, who: str) -> int:
    import ssl

    context = ssl.create_default_context(cafile=certificate)
    return httpx.get(f"{address}/a/b", auth=login(who), verify=context).status_code

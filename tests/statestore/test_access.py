"""Who gets in, to what, and how often they may guess."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import client_of, state_body

from talops.errors import ConflictError, TalopsError
from talops.files import write_atomic
from talops.statestore import users
from talops.statestore.access import failures
from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Denied, Guard
from talops.statestore.passwords import hash_password, verify_password
from talops.statestore.users import Access, User

if TYPE_CHECKING:
    from pathlib import Path

    from talops.statestore.sqlite import SqliteStore


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def cheap(password: str) -> str:
    return hash_password(password, log_n=4, p=1)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "users.json"
    people = [
        User("alice", cheap("alice-pw"), (), ("homelab/*",)),
        User("bob", cheap("bob-pw"), ("homelab/platform",), ()),
    ]
    users.save(path, {user.name: user for user in people})
    return path


def basic(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


def test_a_password_is_known_only_by_its_hash() -> None:
    """The right password verifies, another does not, and two hashes of one differ."""
    first, second = hash_password("s3cret-pw"), cheap("s3cret-pw")
    assert verify_password("s3cret-pw", first)
    assert verify_password("s3cret-pw", second)
    assert not verify_password("s3cret-pW", first)
    assert "s3cret" not in first


def test_the_users_file_is_private(tmp_path: Path) -> None:
    """Users are added, given new passwords and removed; the file is mode 0600."""
    path = tmp_path / "users.json"
    users.add(path, "carol", "first-password", read=(), write=("*",))
    before = users.load(path)["carol"].hash
    users.rotate(path, "carol", "second-password")
    assert users.load(path)["carol"].hash != before
    assert path.stat().st_mode & 0o777 == 0o600
    assert "password" not in path.read_text()
    with pytest.raises(ConflictError):
        users.add(path, "carol", "x", read=(), write=())
    users.remove(path, "carol")
    assert users.load(path) == {}
    with pytest.raises(TalopsError, match="user carol does not exist"):
        users.remove(path, "carol")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 2, "users": []}', '{"format": 1, "users": [{"name": "x"}]}'],
)
def test_a_malformed_users_file_is_an_error(tmp_path: Path, text: str) -> None:
    """A file that cannot be understood never counts as "no user" or "all users"."""
    path = tmp_path / "users.json"
    path.write_text(text)
    with pytest.raises(TalopsError, match="malformed"):
        users.load(path)


@pytest.mark.parametrize(
    ("name", "access", "state", "allowed"),
    [
        ("alice", Access.WRITE, "homelab/platform", True),
        ("alice", Access.READ, "homelab/other", True),
        ("alice", Access.READ, "work/platform", False),
        ("bob", Access.READ, "homelab/platform", True),
        ("bob", Access.WRITE, "homelab/platform", False),
        ("bob", Access.READ, "homelab/other", False),
    ],
)
def test_rights_per_state(book: Path, name: str, access: Access, state: str, allowed: bool) -> None:
    """Writing includes reading, of the named states only."""
    assert users.load(book)[name].may(access, state) is allowed


async def test_credentials(book: Path) -> None:
    """Right credentials give the user, everything else is denied."""
    guard = Guard(book)
    found = await guard.verify(basic("alice", "alice-pw"), "10.0.0.1")
    assert isinstance(found, User)
    assert found.name == "alice"
    assert guard.known(basic("alice", "alice-pw")) is found
    wrong = [None, b"", b"Basic", b"Basic %%%", b"Bearer x", basic("alice", "x"), basic("eve", "x")]
    for header in wrong:
        assert await guard.verify(header, "10.0.0.2") == Denied()
        assert guard.known(header) is None


async def test_guessing_is_rate_limited(book: Path) -> None:
    """After ten failures an address waits, others do not, and a minute later it may try again."""
    clock = Clock()
    guard = Guard(book, clock=clock)
    for _ in range(failures.ALLOWED):
        assert await guard.verify(basic("alice", "x"), "10.0.0.1") == Denied()
        clock.now += 1
    blocked = await guard.verify(basic("alice", "alice-pw"), "10.0.0.1")
    assert blocked == Denied(retry_after=50)
    assert isinstance(await guard.verify(basic("alice", "alice-pw"), "10.0.0.2"), User)
    clock.now += failures.WINDOW
    assert isinstance(await guard.verify(basic("bob", "bob-pw"), "10.0.0.1"), User)


async def test_asking_without_credentials_is_no_guess(book: Path) -> None:
    """Clients may ask without credentials any number of times; they only get 401."""
    guard = Guard(book)
    for _ in range(3 * failures.ALLOWED):
        assert await guard.verify(None, "10.0.0.1") == Denied()


async def test_a_changed_users_file_counts_soon(book: Path) -> None:
    """A removed user is out within a second; a file that broke leaves the last good one."""
    clock = Clock()
    guard = Guard(book, clock=clock)
    header = basic("alice", "alice-pw")
    await guard.verify(header, "10.0.0.1")
    write_atomic(book, "{")
    clock.now += 2
    assert guard.known(header) is not None
    users.save(book, {})
    clock.now += 2
    assert guard.known(header) is None
    assert await guard.verify(header, "10.0.0.1") == Denied()


async def test_rights_over_http(embedded: SqliteStore, book: Path) -> None:
    """401 without a name, 403 without the right, and listings show only what may be read."""
    application = Application(embedded, BodyCipher(None), Guard(book), Limits())
    async with client_of(application) as client:
        for state in ("/homelab/platform", "/homelab/other"):
            done = await client.post(state, content=state_body(1), auth=("alice", "alice-pw"))
            assert done.status_code == 200
        anonymous = await client.get("/homelab/platform")
        assert anonymous.status_code == 401
        assert anonymous.headers["www-authenticate"].startswith("Basic ")
        client.auth = ("bob", "bob-pw")
        read = await client.get("/homelab/platform")
        write = await client.post("/homelab/platform", content=state_body(2))
        lock = await client.request("LOCK", "/homelab/platform", content='{"ID":"1"}')
        other = await client.get("/homelab/other")
        old = await client.get("/-/states/homelab/other/versions")
        codes = [r.status_code for r in (read, write, lock, other, old)]
        assert codes == [200, 403, 403, 403, 403]
        listed = (await client.get("/-/states")).json()
        assert [entry["name"] for entry in listed] == ["homelab/platform"]
        assert (await client.get("/readyz", auth=None)).status_code == 200


async def test_too_many_failures_over_http(embedded: SqliteStore, book: Path) -> None:
    """A guessing address gets 429 with the seconds to wait."""
    application = Application(embedded, BodyCipher(None), Guard(book), Limits())
    async with client_of(application) as client:
        codes = [
            (await client.get("/a/b", auth=("alice", os.urandom(4).hex()))).status_code
            for _ in range(failures.ALLOWED)
        ]
        blocked = await client.get("/a/b", auth=("alice", "x"))
    assert codes == [401] * failures.ALLOWED
    assert blocked.status_code == 429
    assert 0 < int(blocked.headers["retry-after"]) <= 60

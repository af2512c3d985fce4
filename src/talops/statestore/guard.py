"""Authentication: Basic credentials, verified once by scrypt, then by a keyed digest."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talops.errors import TalopsError
from talops.statestore import users
from talops.statestore.access.failures import Failures
from talops.statestore.access.network import is_loopback, network_of
from talops.statestore.access.turns import CrowdedError, Turns
from talops.statestore.passwords import decoy_hash, verify_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.statestore.exchange import Request
    from talops.statestore.users import User

_CACHED_CREDENTIALS = 10_000
_REMEMBERED_LOGINS = 10_000
# A users file that cannot be read keeps its users this long: an editor may be writing it.
STALE_SECONDS = 60.0
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Denied:
    """Authentication failed: 401, 429 with the seconds to wait, or 503 without a users file."""

    retry_after: int = 0
    unavailable: bool = False
    # The user whose password was wrong; empty for names that this server does not know, because
    # people type passwords there by mistake.
    user: str = field(default="", compare=False)
    # A password was sent, and it was wrong.
    guess: bool = field(default=False, compare=False)


ANONYMOUS = users.User("anonymous", "", (), ("*",), ("*",))


class OpenGuard:
    """Accept every request; only for a server that listens on loopback."""

    def known(self, header: bytes | None) -> User | None:  # noqa: ARG002  (the shape of Guard)
        return ANONYMOUS

    async def verify(self, header: bytes | None, address: str) -> User | Denied:  # noqa: ARG002
        return ANONYMOUS

    def is_first(self, user: User, address: str) -> bool:  # noqa: ARG002  (the shape of Guard)
        """Without users, there are no logins."""
        return False

    def is_foreign(self, request: Request) -> bool:  # noqa: ARG002  (the shape of LocalGuard)
        return False

    def reload(self) -> None:
        """Nothing to read."""


class LocalGuard(OpenGuard):
    """The same, but not for a web page that a browser on this machine shows."""

    def is_foreign(self, request: Request) -> bool:
        if request.header(b"origin") is not None:
            return True
        host = request.header(b"host")
        if host is None:  # a browser always sends it
            return False
        try:
            name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
        except ValueError:
            return True
        return not is_loopback(name)


class Guard:
    """The users of a file; `say` receives what an administrator must know about it."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._say = say
        self._key = os.urandom(32)
        self._verified: dict[bytes, User] = {}
        self._failures = Failures(clock)
        self._turns = Turns()
        self._logins: set[tuple[str, str]] = set()
        self._users = users.load(path)
        self._stamp: tuple[int, ...] | None = _stamp(path)
        self._looked = self._read = clock()
        self._problem = ""
        # Unknown names take as long as known ones.
        self._decoy = decoy_hash()

    def known(self, header: bytes | None) -> User | None:
        """The user of credentials that were verified before; the path of nearly every request."""
        if header is None:
            return None
        if self._clock() - self._looked > 1.0:
            self._look()
        if self._expired:
            return None
        return self._verified.get(self._digest(header))

    async def verify(self, header: bytes | None, address: str) -> User | Denied:
        if header is None:  # clients send one request without credentials; not a guess
            return Denied()
        if self._expired:
            return Denied(unavailable=True)
        credentials = _basic(header)
        if credentials is None:
            return Denied(guess=True)
        try:
            return await self._in_turn(header, *credentials, network_of(address))
        except CrowdedError:
            return Denied(1)

    async def _in_turn(
        self, header: bytes, name: str, password: str, network: str
    ) -> User | Denied:
        key = (name[:_LONGEST_NAME], network)
        if denied := self._must_wait(key):
            return denied
        async with self._turns.turn(network):
            if (user := self.known(header)) is not None:
                return user
            if denied := self._must_wait(key):
                return denied
            user = await self._check(name, password)
        if user is None:
            self._failures.add(key)
            return Denied(user=self._named(name), guess=True)
        self._welcome(header, user, key)
        return user

    def _must_wait(self, key: tuple[str, str]) -> Denied | None:
        wait = self._failures.must_wait(key)
        return Denied(wait, user=self._named(key[0])) if wait else None

    def is_first(self, user: User, address: str) -> bool:
        """Whether this user comes from this address for the first time."""
        login = (user.name, address)
        if login in self._logins:
            return False
        if len(self._logins) >= _REMEMBERED_LOGINS:
            self._logins.clear()
        self._logins.add(login)
        return True

    def is_foreign(self, request: Request) -> bool:  # noqa: ARG002  (the shape of LocalGuard)
        """A web page does not have the credentials of a user."""
        return False

    def reload(self) -> None:
        """Read the file again, even if it looks unchanged."""
        self._stamp = None
        self._look()

    @property
    def _expired(self) -> bool:
        return bool(self._problem) and self._clock() - self._read > STALE_SECONDS

    def _welcome(self, header: bytes, user: User, key: tuple[str, str]) -> None:
        if len(self._verified) >= _CACHED_CREDENTIALS:
            self._verified.clear()
        self._verified[self._digest(header)] = user
        self._failures.forget(key)
        self._turns.succeeded(key[1])

    async def _check(self, name: str, password: str) -> User | None:
        user = self._users.get(name)
        right = await asyncio.to_thread(
            verify_password, password, user.hash if user else self._decoy
        )
        # The file may have changed meanwhile.
        return user if right and self._users.get(name) == user else None

    def _named(self, name: str) -> str:
        return name if name in self._users else ""

    def _digest(self, header: bytes) -> bytes:
        return hashlib.blake2b(header, key=self._key, digest_size=32).digest()

    def _look(self) -> None:
        """Read a changed users file; if that fails, its users stay for a limited time."""
        self._looked = self._clock()
        try:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._users = users.load(self._path)
                self._stamp = stamp
                self._verified.clear()
                self._logins.clear()
        except (OSError, TalopsError) as error:
            self._fail(str(error))
            return
        if self._problem:
            self._say(f"{self._path} can be read again")
        self._problem, self._read = "", self._looked

    def _fail(self, reason: str) -> None:
        # What was read last may not be what it says now, even if it looks the same later.
        self._stamp = None
        if reason != self._problem:
            self._say(
                f"cannot read the users file: {reason}; its last users are refused "
                f"{STALE_SECONDS:.0f} seconds after it was last read"
            )
        self._problem = reason


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_ino, found.st_mode, found.st_uid, found.st_size


def _basic(header: bytes) -> tuple[str, str] | None:
    kind, _, text = header.partition(b" ")
    if kind.lower() != b"basic":
        return None
    try:
        name, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (name, password) if colon else None

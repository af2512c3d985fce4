"""Authentication: Basic credentials, verified once by scrypt, then by a keyed digest."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.statestore import users
from talops.statestore.passwords import decoy_hash, verify_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.statestore.users import User

FAILURES_ALLOWED = 10
FAILURE_WINDOW = 60.0
_TRACKED_ADDRESSES = 10_000
_CACHED_CREDENTIALS = 10_000


@dataclass(frozen=True, slots=True)
class Denied:
    """Authentication failed: 401, or 429 with the seconds to wait."""

    retry_after: int = 0


ANONYMOUS = users.User("anonymous", "", (), ("*",))


class OpenGuard:
    """Accept every request; only for a server that listens on loopback."""

    def known(self, header: bytes | None) -> User | None:  # noqa: ARG002  (the shape of Guard)
        return ANONYMOUS

    async def verify(self, header: bytes | None, address: str) -> User | Denied:  # noqa: ARG002
        return ANONYMOUS


class Guard:
    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._key = os.urandom(32)
        self._verified: dict[bytes, User] = {}
        self._failures: dict[str, list[float]] = {}
        self._users = users.load(path)
        self._stamp = _stamp(path)
        self._looked = clock()
        # One scrypt at a time: it uses 32 MB, and guessing must not slow down other requests.
        self._turn = asyncio.Semaphore(1)
        # Unknown names take as long as known ones.
        self._decoy = decoy_hash()

    def known(self, header: bytes | None) -> User | None:
        """The user of credentials that were verified before; the path of nearly every request."""
        if header is None:
            return None
        if self._clock() - self._looked > 1.0:
            self._reload()
        return self._verified.get(self._digest(header))

    async def verify(self, header: bytes | None, address: str) -> User | Denied:
        if header is None:  # clients send one request without credentials; not a guess
            return Denied()
        if wait := self._must_wait(address):
            return Denied(wait)
        async with self._turn:
            if (user := self.known(header)) is not None:
                return user
            if wait := self._must_wait(address):
                return Denied(wait)
            user = await self._check(header)
        if user is None:
            self._failed(address)
            return Denied()
        if len(self._verified) >= _CACHED_CREDENTIALS:
            self._verified.clear()
        self._verified[self._digest(header)] = user
        self._failures.pop(address, None)
        return user

    async def _check(self, header: bytes) -> User | None:
        credentials = _basic(header)
        if credentials is None:
            return None
        name, password = credentials
        user = self._users.get(name)
        right = await asyncio.to_thread(
            verify_password, password, user.hash if user else self._decoy
        )
        return user if right else None

    def _digest(self, header: bytes) -> bytes:
        return hashlib.blake2b(header, key=self._key, digest_size=32).digest()

    def _reload(self) -> None:
        """Reload a changed users file; if it cannot be read, keep using the last valid one."""
        self._looked = self._clock()
        try:
            stamp = _stamp(self._path)
            if stamp == self._stamp:
                return
            self._users, self._stamp = users.load(self._path), stamp
        except (OSError, TalopsError):
            return
        self._verified.clear()

    def _must_wait(self, address: str) -> int:
        recent = self._recent(address)
        if len(recent) < FAILURES_ALLOWED:
            return 0
        return max(1, round(recent[0] + FAILURE_WINDOW - self._clock()))

    def _failed(self, address: str) -> None:
        if len(self._failures) >= _TRACKED_ADDRESSES:
            self._failures = {key: self._recent(key) for key in self._failures if self._recent(key)}
        self._failures[address] = [*self._recent(address), self._clock()]

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - FAILURE_WINDOW
        return [at for at in self._failures.get(address, ()) if at > since]


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_ino


def _basic(header: bytes) -> tuple[str, str] | None:
    kind, _, text = header.partition(b" ")
    if kind.lower() != b"basic":
        return None
    try:
        name, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (name, password) if colon else None

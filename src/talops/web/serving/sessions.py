"""Sessions of users that logged in, and the tokens that only their pages have."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from talops.app.logins import Logins, Person

LASTS = 12 * 3600.0
MOST = 1000


@dataclass(frozen=True)
class Session:
    """`header` are the credentials: a user that is removed from the file is logged out."""

    person: Person
    header: bytes
    csrf: str
    ends: float


class Sessions:
    """Kept in memory: a restart of the server ends all of them."""

    def __init__(
        self, logins: Logins, *, tls: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logins, self._clock, self._tls = logins, clock, tls
        # Browsers accept this prefix only for a cookie of exactly this server, over TLS.
        self.cookie = "__Host-talops" if tls else "talops"
        self._open: dict[bytes, Session] = {}

    async def login(self, name: str, password: str, address: str) -> str:
        """The value of the cookie; DeniedError says why not."""
        person = await self._logins.check(name, password, address)
        header = b"Basic " + base64.b64encode(f"{name}:{password}".encode())
        token = secrets.token_urlsafe(32)
        self._tidy()
        ends = self._clock() + LASTS
        self._open[_key(token)] = Session(person, header, secrets.token_urlsafe(32), ends)
        return token

    async def of(self, request: Request) -> Session | None:
        """Of its cookie, or of an Authorization header of a program such as Prometheus."""
        token = request.cookies.get(self.cookie, "")
        found = self._open.get(_key(token)) if token else None
        if found is None:
            return await self._basic(request)
        if found.ends < self._clock() or (now := await self._logins.still(found.header)) is None:
            del self._open[_key(token)]
            return None
        return Session(now, found.header, found.csrf, found.ends)

    async def _basic(self, request: Request) -> Session | None:
        header = request.headers.get("authorization", "").encode("latin-1")
        if not header:
            return None
        address = request.client.host if request.client else ""
        person = await self._logins.basic(header, address)
        return Session(person, header, "", self._clock())

    def logout(self, request: Request) -> None:
        self._open.pop(_key(request.cookies.get(self.cookie, "")), None)

    def give(self, response: Response, token: str) -> None:
        response.set_cookie(
            self.cookie, token, httponly=True, samesite="strict", secure=self._tls, path="/"
        )

    def _tidy(self) -> None:
        now = self._clock()
        self._open = {key: each for key, each in self._open.items() if each.ends > now}
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]


def require_token(session: Session, given: str) -> None:
    """Only a page that this server gave to this session has it."""
    if not session.csrf or not hmac.compare_digest(session.csrf.encode(), given.encode()):
        raise DeniedError("this form is not of your session", hint="reload the page")


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

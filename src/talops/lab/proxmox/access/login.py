"""Passwords, tickets, CSRF tokens and API tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import PveError, unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.proxmox.store import Document, Table

TICKET_LIFE = 2 * 3600
AHEAD = 300  # how far in the future the time of a ticket may be
ROUNDS = 1000  # a lab's throw-away passwords must not cost a login per second


def hash_password(password: str) -> str:
    salt = secrets.token_hex(8)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()
    return f"{salt}${digest}"


def password_fits(password: str, stored: str) -> bool:
    salt, _, digest = stored.partition("$")
    given = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()
    return hmac.compare_digest(given, digest)


class Login:
    """The user of a request, or 401."""

    def __init__(
        self,
        key: str,
        users: Table[Document],
        tokens: Table[Document],
        now: Callable[[], float],
    ) -> None:
        self._key = key.encode()
        self._users = users
        self._tokens = tokens
        self._now = now

    def password(self, username: str, password: str) -> None:
        user = self._users.get(username)
        if not user or not user.get("password") or not password_fits(password, user["password"]):
            raise PveError(401, "authentication failure")
        try:
            self._enabled(username)
        except PveError:
            raise PveError(401, "authentication failure") from None

    def ticket(self, username: str) -> tuple[str, str]:
        """The ticket and its CSRF prevention token."""
        stamp = f"{int(self._now()):08X}"
        ticket = f"PVE:{username}:{stamp}"
        csrf = self._sign(f"{stamp}:{username}")
        return f"{ticket}::{self._sign(ticket)}", f"{stamp}:{csrf}"

    def by_ticket(self, ticket: str, csrf: str | None, *, writes: bool) -> str:
        """The reason why a ticket is rejected is only in the log of the host."""
        plain, _, signature = ticket.partition("::")
        fields = plain.split(":")
        wanted = 3
        if len(fields) != wanted or not hmac.compare_digest(signature, self._sign(plain)):
            raise unauthorized()
        self._fresh(fields[2], "Authentication failed!")
        self._enabled(fields[1])
        if writes:
            self._check_csrf(fields[1], csrf or "")
        return fields[1]

    def by_token(self, header: str) -> str:
        """`user@realm!id=secret`, as in the Authorization header."""
        tokenid, _, value = header.partition("=")
        token = self._tokens.get(tokenid)
        self._enabled(tokenid.split("!")[0])
        expired = token and token.get("expire") and token["expire"] < self._now()
        if not token or expired:
            raise unauthorized()
        digest = hashlib.sha256(value.encode()).hexdigest()
        if not hmac.compare_digest(digest, token["secret"]):
            raise unauthorized()
        return tokenid

    def _enabled(self, username: str) -> None:
        user = self._users.get(username)
        expired = user and user.get("expire") and user["expire"] < self._now()
        if not user or not user.get("enable", 1) or expired:
            raise unauthorized()

    def _check_csrf(self, username: str, csrf: str) -> None:
        stamp, _, signature = csrf.partition(":")
        refusal = "Permission denied - invalid csrf token"
        if not hmac.compare_digest(signature, self._sign(f"{stamp}:{username}")):
            raise unauthorized(refusal)
        self._fresh(stamp, refusal)

    def _fresh(self, stamp: str, refusal: str) -> None:
        age = self._now() - int(stamp, 16)
        if not -AHEAD < age < TICKET_LIFE:
            raise unauthorized(refusal)

    def _sign(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode().rstrip("=")

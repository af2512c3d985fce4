"""Authentication and authorization of every request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.statestore.exchange import refusal
from talops.statestore.guard import Denied
from talops.statestore.intake import RefusedError
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.exchange import Request, Response
    from talops.statestore.guard import Guard, OpenGuard
    from talops.statestore.metrics import Metrics
    from talops.statestore.users import Access, User

_CHALLENGE = (b"www-authenticate", b'Basic realm="talops state", charset="UTF-8"')


class Gate:
    """`note` records logins and refusals in the audit."""

    def __init__(
        self, guard: Guard | OpenGuard, metrics: Metrics, note: Callable[[AuditEntry], None]
    ) -> None:
        self._guard = guard
        self._metrics = metrics
        self._note = note

    async def enter(self, request: Request) -> User:
        if self._guard.is_foreign(request):
            self._metrics.denied += 1
            raise RefusedError(
                refusal(
                    403,
                    "this server without users only answers to programs of its own machine",
                    "use the address that it printed, such as http://127.0.0.1:8443",
                )
            )
        header = request.header(b"authorization")
        user = self._guard.known(header)
        if user is None:
            found = await self._guard.verify(header, request.address)
            if isinstance(found, Denied):
                raise RefusedError(self._denied(found, request))
            user = found
        if self._guard.is_first(user, request.address):
            self._note(AuditEntry(time.time(), user.name, request.address, "login", ""))
        return user

    def permit(self, user: User, access: Access, state: str, origin: str) -> None:
        if user.may(access, state):
            return
        self._metrics.denied += 1
        self._note(AuditEntry(time.time(), user.name, origin, "denied", state, f"{access} access"))
        raise RefusedError(
            refusal(
                403,
                f"{user.name} does not have permission to {access} {state}",
                f'grant it in the users file: "{access}": ["{state}"]',
            )
        )

    def _denied(self, found: Denied, request: Request) -> Response:
        self._metrics.denied += 1
        if found.guess:
            who = found.user or "unknown user"
            self._note(AuditEntry(time.time(), who, request.address, "login-failed", ""))
        if found.unavailable:
            return refusal(503, "the users file of this server cannot be read", "see its log")
        if found.retry_after:
            wait = [(b"retry-after", b"%d" % found.retry_after)]
            return refusal(429, "too many failed logins", "wait", wait)
        hint = "set TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
        return refusal(401, "authentication required", hint, [_CHALLENGE])

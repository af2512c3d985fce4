"""Authentication and authorization of every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.statestore.exchange import refusal
from talops.statestore.guard import Denied
from talops.statestore.intake import RefusedError

if TYPE_CHECKING:
    from talops.statestore.exchange import Request
    from talops.statestore.guard import Guard, OpenGuard
    from talops.statestore.metrics import Metrics
    from talops.statestore.users import Access, User

_CHALLENGE = (b"www-authenticate", b'Basic realm="talops state", charset="UTF-8"')


class Gate:
    def __init__(self, guard: Guard | OpenGuard, metrics: Metrics) -> None:
        self._guard = guard
        self._metrics = metrics

    async def enter(self, request: Request) -> User:
        header = request.header(b"authorization")
        if (user := self._guard.known(header)) is not None:
            return user
        found = await self._guard.verify(header, request.address)
        if not isinstance(found, Denied):
            return found
        self._metrics.denied += 1
        if found.retry_after:
            wait = [(b"retry-after", b"%d" % found.retry_after)]
            raise RefusedError(refusal(429, "too many failed logins", "wait", wait))
        raise RefusedError(
            refusal(
                401,
                "authentication required",
                "set TF_HTTP_USERNAME and TF_HTTP_PASSWORD",
                [_CHALLENGE],
            )
        )

    def permit(self, user: User, access: Access, state: str) -> None:
        if user.may(access, state):
            return
        self._metrics.denied += 1
        raise RefusedError(
            refusal(
                403,
                f"{user.name} does not have permission to {access} {state}",
                f'grant it in the users file: "{access}": ["{state}"]',
            )
        )

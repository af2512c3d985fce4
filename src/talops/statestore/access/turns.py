"""The order in which passwords are verified: one at a time, strangers last, never a long queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WAITING = 32
WAITING_PER_NETWORK = 4
_REMEMBERED = 10_000


class CrowdedError(Exception):
    """Too many logins wait; this one is to be sent again later."""


@dataclass(eq=False)
class _Ticket:
    network: str
    number: int
    turn: asyncio.Future[None]


class Turns:
    """Each hash uses 32 MB and a third of a second, so only one runs at a time.

    The next turn goes to the network that has used the fewest; among equals, to the newest request.
    A flood of guesses from many networks therefore delays a login from another one by one hash.
    """

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()
        self._waiting: list[_Ticket] = []
        self._busy = False
        self._count = 0

    @contextlib.asynccontextmanager
    async def turn(self, network: str) -> AsyncIterator[None]:
        await self._wait(network)
        self._used[network] += 1
        try:
            yield
        finally:
            self._next()

    def succeeded(self, network: str) -> None:
        """A network with users of this server is not a stranger any more."""
        if len(self._used) >= _REMEMBERED:
            self._used.clear()
        self._used[network] = -1

    async def _wait(self, network: str) -> None:
        if not self._busy:
            self._busy = True
            return
        self._make_room(network)
        self._count += 1
        ticket = _Ticket(network, self._count, asyncio.get_running_loop().create_future())
        self._waiting.append(ticket)
        try:
            await ticket.turn
        except BaseException:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            elif ticket.turn.done() and not ticket.turn.cancelled() and not _failed(ticket):
                self._next()  # it had the turn already
            raise

    def _make_room(self, network: str) -> None:
        same = [ticket for ticket in self._waiting if ticket.network == network]
        if len(same) >= WAITING_PER_NETWORK:
            raise CrowdedError
        if len(self._waiting) >= WAITING:
            last = max(self._waiting, key=self._rank)
            if (self._used[network], -self._count - 1) >= self._rank(last):
                raise CrowdedError
            self._waiting.remove(last)
            last.turn.set_exception(CrowdedError())

    def _next(self) -> None:
        if len(self._used) >= _REMEMBERED:
            self._used.clear()
        if not self._waiting:
            self._busy = False
            return
        first = min(self._waiting, key=self._rank)
        self._waiting.remove(first)
        first.turn.set_result(None)

    def _rank(self, ticket: _Ticket) -> tuple[int, int]:
        return self._used[ticket.network], -ticket.number


def _failed(ticket: _Ticket) -> bool:
    return ticket.turn.exception() is not None

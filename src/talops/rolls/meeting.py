"""Several nodes that one action takes down, such as one apply of OpenTofu for their VMs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class LeftError(ConflictError):
    """Another node failed. `begun`: the action was running, so that this node may be down."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("another node of the same batch has failed", hint="talops up")
        self.begun = begun


class Meeting:
    """The last of `count` nodes to arrive carries out `act`; all wait for its end."""

    def __init__(self, count: int, act: Callable[[], Awaitable[None]]) -> None:
        self._missing = count
        self._act = act
        self._outcome: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def arrive(self) -> None:
        """Return when the action is done; only one node raises its error, the others LeftError."""
        self._missing -= 1
        if self._missing == 0 and not self._outcome.done():
            await self._carry_out()
        elif not await asyncio.shield(self._outcome):
            raise LeftError(begun=self._missing == 0)

    def leave(self) -> None:
        """A node that will not arrive: the action takes place only with all of them."""
        if not self._outcome.done():
            self._outcome.set_result(False)

    async def _carry_out(self) -> None:
        done = False
        try:
            await self._act()
            done = True
        finally:
            self._outcome.set_result(done)

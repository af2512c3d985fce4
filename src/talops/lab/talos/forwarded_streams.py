"""Streams that one node forwards from another, whose connections may end meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def until_gone(gone: asyncio.Event, items: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The items until `gone` is set, then a connection error."""
    hung_up = asyncio.ensure_future(gone.wait())
    try:
        while True:
            item = asyncio.ensure_future(anext(items, None))
            try:
                await asyncio.wait({hung_up, item}, return_when=asyncio.FIRST_COMPLETED)
                if not item.done():
                    raise GRPCError(Status.UNAVAILABLE, "error reading from server: EOF")
                if (found := item.result()) is None:
                    return
            finally:
                item.cancel()
            yield found
    finally:
        hung_up.cancel()

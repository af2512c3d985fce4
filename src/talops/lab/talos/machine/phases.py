"""The steps of a sequence: announced, timed, and open to faults."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from talops.lab.talos.machine.failures import CrashedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.lab.talos.machine.node import Node


@contextlib.asynccontextmanager
async def phase(node: Node, name: str, seconds: float = 0.0) -> AsyncIterator[None]:
    """`seconds` are scaled like all of a lab's times."""
    node.journal.phase(name, start=True)
    await asyncio.sleep(node.settings.timing.of(seconds))
    if node.book.crashes(name, node.machine.name, node.machine.uuid):
        raise CrashedError(f"in phase {name}")
    yield
    node.journal.phase(name, start=False)

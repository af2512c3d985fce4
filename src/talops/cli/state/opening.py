"""Open the backend for a `talops state` command: from the inventory, or from an option."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.statestore.backends.interface import StateBackend

T = TypeVar("T")


def with_backend(
    directory: Path | None,
    work: Callable[[StateBackend], Awaitable[T]],
    place: str | None = None,
    ca_file: Path | None = None,
) -> T:
    """Open the backend, run `work`, close it. `place` overrides the inventory."""
    root = (directory or Path.cwd()).absolute()

    async def run() -> T:
        backend = await open_backend(root, place, ca_file)
        try:
            return await work(backend)
        finally:
            await backend.close()

    return asyncio.run(run())


async def open_backend(
    root: Path, place: str | None = None, ca_file: Path | None = None
) -> StateBackend:
    from talops.app import states
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return await states.open_backend(root, dict(os.environ), emit, place, ca_file)

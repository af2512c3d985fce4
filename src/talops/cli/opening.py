"""Open a site for a command: its environment, progress of installations, problems on stderr."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from talops.cli.output import note

if TYPE_CHECKING:
    import re
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.inventory.model import Cluster
    from talops.site.site import ClosedSite, Site

T = TypeVar("T")


def inventory_of(directory: Path) -> Cluster:
    """Report every problem, then fail."""
    from talops.app.opening import read_inventory

    with _reported():
        return read_inventory(directory)


def closed_site(directory: Path) -> ClosedSite:
    from talops.app import opening

    with _reported():
        return opening.closed_site(directory, dict(os.environ))


@contextmanager
def _reported() -> Iterator[None]:
    from talops.app.opening import WrongInventoryError

    try:
        yield
    except WrongInventoryError as error:
        for problem in error.problems:
            note(str(problem))
        raise


def site_of(directory: Path, nodes: re.Pattern[str] | None = None) -> Site:
    from talops.app.opening import open_site
    from talops.cli.tools.progress import progress

    closed = closed_site(directory)
    with progress() as emit:
        return asyncio.run(open_site(closed, emit, nodes))


def with_credentials(closed: ClosedSite) -> ClosedSite:
    """For what needs no engine."""
    from talops.app.opening import with_credentials
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return asyncio.run(with_credentials(closed, emit))


def with_keys(directory: Path | None, work: Callable[[Keys], Awaitable[T]]) -> T:
    """The keys of a directory, with or without an inventory."""

    async def run(root: Path) -> T:
        return await work(await open_keys(root))

    assert directory is not None  # the option's callback fills it in
    return asyncio.run(run(directory.resolve()))


async def open_keys(root: Path) -> Keys:
    from talops.app import opening
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return await opening.open_keys(root, dict(os.environ), emit)

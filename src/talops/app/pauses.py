"""Pause a cluster and resume it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.site.checkout import mark
from talops.site.state.pausing import (
    UnreadablePauseError,
    new_pause,
    place,
    read_pause,
    remove_pause,
    write_pause,
)

if TYPE_CHECKING:
    from talops.site.site import ClosedSite
    from talops.site.state.pausing import Pause


@dataclass(frozen=True)
class Asked:
    """The pause that holds now, and where it is recorded."""

    pause: Pause
    where: str


async def pause(site: ClosedSite, reason: str) -> Asked:
    """A second pause changes nothing: the first one tells who is responsible."""
    present = await read_pause(site)
    if present is None:
        present = new_pause(reason)
        mark(site.root)
        await write_pause(site, present)
    return Asked(present, place(site))


async def resume(site: ClosedSite) -> Pause | None:
    """The pause that held; also removes a record that cannot be read."""
    before = None
    with contextlib.suppress(UnreadablePauseError):
        before = await read_pause(site)
        if before is None:
            return None
    await remove_pause(site)
    return before

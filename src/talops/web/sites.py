"""The sites of a server: one per directory, named after its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.web.watching.doorway import Doorway
from talops.web.watching.looks import looks
from talops.web.watching.site import WatchedSite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from talops.web.watching.looks import Intervals


def watched(
    roots: Sequence[Path], environment: Mapping[str, str], intervals: Intervals
) -> dict[str, WatchedSite]:
    """Two directories of clusters with the same name get numbers."""
    found: dict[str, WatchedSite] = {}
    for root in roots:
        door = Doorway(root, environment)
        name, number = door.cluster.name, 2
        while name in found:
            name, number = f"{door.cluster.name}-{number}", number + 1
        found[name] = _site(name, door, intervals)
    return found


def _site(name: str, door: Doorway, intervals: Intervals) -> WatchedSite:
    return WatchedSite(name, door.root, lambda: door.cluster, looks(door, intervals))

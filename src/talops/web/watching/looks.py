"""The looks at one site: the same checks as `status`, `verify`, `drift`, `versions` and
`certificates`, through the application.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.app import verifying
from talops.app.access import certificates
from talops.app.backups import keeping
from talops.app.drift import look as drift
from talops.app.status import look as status
from talops.app.upgrades import versions
from talops.app.world import look as world
from talops.errors import TalopsError
from talops.web.watching.observer import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.app.access.model import Credential
    from talops.app.drift.model import AreaDrift
    from talops.app.status.model import Seen
    from talops.app.upgrades.versions import Versions
    from talops.app.world.model import World
    from talops.backups.manifest import Backup
    from talops.web.watching.doorway import Doorway

STATUS, WORLD, DRIFT, VERSIONS, CREDENTIALS = "status", "world", "drift", "versions", "credentials"
# Versions and certificates change slowly, and the Image Factory belongs to others.
SLOW = 60


@dataclass(frozen=True)
class Intervals:
    """Seconds between two looks. Drift takes the run lock of the directory while it compares."""

    every: float = 60.0
    drift: float = 1800.0


@dataclass(frozen=True)
class Calendar:
    """What ends: certificates, tokens, keys; and the backups that exist."""

    credentials: tuple[Credential, ...]
    backups: tuple[Backup, ...]
    unread: Mapping[str, TalopsError]


def looks(door: Doorway, intervals: Intervals) -> list[Look]:
    """In the order in which they are first made."""

    async def seen() -> Seen:
        site = await door.site()
        verifying.require_cluster(site)
        return await status.see(site, datetime.now(UTC))

    async def running() -> World:
        site = await door.site()
        verifying.require_cluster(site)
        return await world.look(site)

    async def compared() -> list[AreaDrift]:
        return await drift.look(await door.site())

    async def versioned() -> Versions:
        site = await door.site()
        verifying.require_cluster(site)
        return await versions.look(site)

    async def dated() -> Calendar:
        site = await door.site()
        verifying.require_cluster(site)
        return await _calendar(site)

    slow = SLOW * intervals.every
    return [
        Look(STATUS, intervals.every, seen),
        Look(WORLD, intervals.every, running, UNREAD[WORLD]),
        Look(VERSIONS, slow, versioned, UNREAD[VERSIONS]),
        Look(CREDENTIALS, slow, dated, UNREAD[CREDENTIALS]),
        Look(DRIFT, intervals.drift, compared, UNREAD[DRIFT]),
    ]


async def _calendar(site: Any) -> Calendar:
    found = await certificates.credentials(site)
    unread = {
        each.name: TalopsError(each.unread, where=each.where) for each in found if each.unread
    }
    try:
        kept = await keeping.listed(site)
    except TalopsError as error:
        kept, unread = [], {**unread, "backups": error}
    return Calendar(tuple(found), tuple(kept), unread)


def _unread_versions(found: Versions) -> dict[str, TalopsError]:
    unread = {error.where or f"part {n}": error for n, error in enumerate(found.unread, start=1)}
    return {**unread, "Image Factory": found.unlisted} if found.unlisted else unread


def _unread_areas(found: list[AreaDrift]) -> dict[str, TalopsError]:
    named: dict[str, TalopsError] = {}
    for area in found:
        for number, error in enumerate(area.unread):
            name = f"{area.layer} ({error.where})" if number or error.where else area.layer
            named[name] = error
    return named


# Look → the parts of its answer that could not be read.
UNREAD: dict[str, Callable[[Any], Mapping[str, TalopsError]]] = {
    STATUS: lambda _: {},
    WORLD: lambda found: found.unread,
    VERSIONS: _unread_versions,
    CREDENTIALS: lambda found: found.unread,
    DRIFT: _unread_areas,
}

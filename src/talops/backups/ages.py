"""How old the last good backup and the last drill are, and whether that is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from talops.backups.drills import last_passed
from talops.backups.kept import list_backups
from talops.pipeline.checks import Finding, failed, passed, skipped, warning
from talops.plural import count

if TYPE_CHECKING:
    from datetime import datetime

    from talops.backups.signing import Signer
    from talops.backups.store import Store
    from talops.inventory.operating import Backup as Bounds

CREATE, DRILL = "talops backup create", "talops backup drill"
_HOUR, _DAY = 3600, 86400
# Shorter ages are told in hours, as people write their bounds.
_TWO_DAYS = 2 * _DAY


@dataclass(frozen=True)
class Ages:
    """When the last usable backup and the last passed drill were; `problem` of a newer backup."""

    backup: datetime | None
    drill: datetime | None
    problem: str = ""


async def read_ages(store: Store, signer: Signer) -> Ages:
    found = await list_backups(store, signer)
    drill = await last_passed(store, signer)
    last = next((each for each in found if each.usable), None)
    newer = found[0] if found and not found[0].usable else None
    return Ages(
        last.manifest.created if last and last.manifest else None,
        drill.at if drill else None,
        f"{newer.id}: {newer.problem}" if newer else "",
    )


def judge(ages: Ages, bounds: Bounds, now: datetime) -> list[Finding]:
    if ages.backup is None and bounds.max_age is None and bounds.drill is None:
        return [skipped("etcd has no backup", hint=CREATE)]
    found = [
        _judged("backup", ages.backup, bounds.max_age, now, CREATE),
        _judged("restore drill", ages.drill, bounds.drill, now, DRILL),
    ]
    if ages.problem:
        found.append(warning(f"the newest backup cannot be used: {ages.problem}", hint=CREATE))
    return found


def _judged(what: str, at: datetime | None, bound: int | None, now: datetime, hint: str) -> Finding:
    if at is None:
        told = f"etcd has no {what}"
        return failed(told, hint=hint, final=True) if bound else skipped(told, hint=hint)
    told = f"last {what} {age_text(now - at)} ago"
    if bound and now - at > timedelta(seconds=bound):
        limit = age_text(timedelta(seconds=bound))
        return failed(f"{told}, allowed are {limit}", hint=hint, final=True)
    return passed(told)


def age_text(age: timedelta) -> str:
    """5 minutes, 26 hours, 3 days."""
    seconds = max(int(age.total_seconds()), 0)
    if seconds >= _TWO_DAYS:
        return count(seconds // _DAY, "day")
    if seconds >= _HOUR:
        return count(seconds // _HOUR, "hour")
    return count(seconds // 60, "minute")

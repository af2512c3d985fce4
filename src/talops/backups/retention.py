"""Which backups stay: by number, by age, and the newest of each day, week, month and year. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from talops.backups.manifest import Backup, Manifest
    from talops.inventory.operating import Keep


@dataclass(frozen=True)
class Selection:
    """Ids with the rules that keep them, ids that go, and backups that cannot be used."""

    kept: Mapping[str, Sequence[str]]
    removed: Sequence[str]
    unusable: Sequence[Backup]


def selected(manifests: Iterable[Manifest], keep: Keep, now: datetime) -> dict[str, list[str]]:
    """The ids that are kept, each with the rules that select it."""
    newest_first = sorted(manifests, key=lambda each: each.created, reverse=True)
    reasons: dict[str, list[str]] = defaultdict(list)
    for manifest in newest_first[: keep.last]:
        reasons[manifest.id].append("last")
    for manifest in newest_first:
        if keep.within and now - manifest.created < timedelta(seconds=keep.within):
            reasons[manifest.id].append("within")
    for name, number, period in _periods(keep):
        firsts: dict[str, Manifest] = {}
        for manifest in newest_first:
            firsts.setdefault(period(manifest.created.astimezone(UTC)), manifest)
        for manifest in list(firsts.values())[:number]:
            reasons[manifest.id].append(name)
    return dict(reasons)


def _periods(keep: Keep) -> list[tuple[str, int, Callable[[datetime], str]]]:
    """Only periods that have a backup count, so that a pause of backups removes nothing."""
    return [
        ("daily", keep.daily, lambda at: f"{at:%Y-%m-%d}"),
        ("weekly", keep.weekly, lambda at: f"{at:%G-%V}"),
        ("monthly", keep.monthly, lambda at: f"{at:%Y-%m}"),
        ("yearly", keep.yearly, lambda at: f"{at:%Y}"),
    ]

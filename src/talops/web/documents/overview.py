"""One sentence about a cluster, and the findings behind it in the order of harm. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.app.status.model import judge
from talops.pipeline.checks import Verdict
from talops.plural import count
from talops.views.status import Level
from talops.web.documents import VERSION
from talops.web.documents.ages import TITLES, age_of, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from talops.app.drift.model import AreaDrift
    from talops.app.status.model import Seen
    from talops.pipeline.checks import CheckResult
    from talops.views.status import Row
    from talops.web.watching.panel import Panel

# The order of harm: what is wrong, what is not known, what should be done some day.
ORDER = (Level.BAD, Level.UNKNOWN, Level.NOTICE)
OF_VERDICT = {
    Verdict.FAILED: Level.BAD,
    Verdict.UNPROVEN: Level.UNKNOWN,
    Verdict.WARNING: Level.NOTICE,
}
# Rows of the status whose findings are listed one by one, or that another panel knows better.
_BY_FINDING = frozenset({"health"})


@dataclass(frozen=True)
class Harm:
    """One finding: `command` is what to type, `since` how long it has been unreadable."""

    level: Level
    area: str
    what: str
    where: str = ""
    command: str = ""
    since: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "level": str(self.level),
            "area": self.area,
            "what": self.what,
            "where": self.where or None,
            "command": self.command or None,
            "since": stamp(self.since),
        }


def overview(
    cluster: str, wanted: Mapping[str, str], panels: Mapping[str, Panel], now: datetime
) -> dict[str, Any]:
    found = sorted(harms(cluster, wanted, panels, now), key=lambda harm: ORDER.index(harm.level))
    level, sentence = verdict(found, panels, now)
    seen: Seen | None = panels["status"].value
    rows = judge(cluster, wanted, seen, now).rows if seen else ()
    return {
        "version": VERSION,
        "cluster": cluster,
        "level": str(level),
        "sentence": sentence,
        "counts": {str(each): sum(harm.level is each for harm in found) for each in ORDER},
        "findings": [harm.as_dict() for harm in found],
        "rows": [_row(row) for row in rows],
        "checks": [{"name": each.name, "verdict": str(each.verdict)} for each in _checks(seen)],
        "ages": [age_of(panel, now) for panel in panels.values()],
        "time": stamp(now),
    }


def _checks(seen: Seen | None) -> Sequence[CheckResult]:
    return seen.checks if seen else ()


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "level": str(row.level),
        "text": row.text,
        "details": list(row.details),
        "command": row.hint or None,
    }


def verdict(found: Sequence[Harm], panels: Mapping[str, Panel], now: datetime) -> tuple[Level, str]:
    """What an old look found is not what is true now."""
    status = panels["status"]
    if status.looked is None and status.error is None:
        return Level.UNKNOWN, "Looking at the cluster for the first time"
    counts = {level: sum(harm.level is level for harm in found) for level in ORDER}
    if counts[Level.BAD]:
        return Level.BAD, f"{count(counts[Level.BAD], 'problem')} to solve"
    if status.stale(now) or status.looked is None:
        return Level.UNKNOWN, "Not known: the last look did not succeed, or is too old"
    if counts[Level.UNKNOWN]:
        return Level.UNKNOWN, f"Not everything is known: {count(counts[Level.UNKNOWN], 'gap')}"
    if counts[Level.NOTICE]:
        return Level.NOTICE, f"Running, with {count(counts[Level.NOTICE], 'note')}"
    return Level.GOOD, "Everything is well"


def harms(
    cluster: str, wanted: Mapping[str, str], panels: Mapping[str, Panel], now: datetime
) -> Iterator[Harm]:
    yield from _unread(panels)
    if panels["status"].value is not None:
        yield from _status(cluster, wanted, panels["status"].value, panels["drift"], now)
    if panels["drift"].value is not None:
        yield from _drift(panels["drift"].value)
    if panels["versions"].value is not None:
        for refusal in panels["versions"].value.path.refusals:
            yield Harm(Level.NOTICE, "versions", refusal.what, command=refusal.hint)


def _unread(panels: Mapping[str, Panel]) -> Iterator[Harm]:
    """Looks that failed, and parts that do not answer."""
    for panel in panels.values():
        title = TITLES.get(panel.name, panel.name)
        if panel.error:
            error = panel.error.error
            yield Harm(
                Level.UNKNOWN,
                panel.name,
                f"cannot look at {title}: {error.what}",
                error.where or "",
                error.hint or "",
                panel.error.since,
            )
        if panel.name == "status":
            continue
        for part, silence in panel.silent.items():
            error = silence.error
            what = f"{part} cannot be read: {error.what}"
            yield Harm(
                Level.UNKNOWN, panel.name, what, error.where or "", error.hint or "", silence.since
            )


def _status(
    cluster: str, wanted: Mapping[str, str], seen: Seen, drift: Panel, now: datetime
) -> Iterator[Harm]:
    for result in seen.checks:
        for finding in result.findings:
            if finding.verdict in OF_VERDICT:
                yield Harm(
                    OF_VERDICT[finding.verdict],
                    result.name,
                    finding.what,
                    finding.where or "",
                    finding.hint or "",
                )
    for row in judge(cluster, wanted, seen, now).rows:
        told = row.name in _BY_FINDING or (row.name == "drift" and drift.looked is not None)
        if row.level is not Level.GOOD and not told:
            details = "; ".join(row.details)
            what = f"{row.text}: {details}" if details else row.text
            yield Harm(row.level, row.name, what, command=row.hint)


def _drift(areas: Sequence[AreaDrift]) -> Iterator[Harm]:
    """One per layer: the view of drift lists them."""
    for area in areas:
        if not area.differences:
            continue
        safe = [each for each in area.differences if each.safe]
        what = f"{count(len(area.differences), 'difference')} in {area.layer}"
        more = f", {len(safe)} can be fixed without disruption" if safe else ""
        command = "talops drift --fix" if safe else area.differences[0].command
        yield Harm(Level.NOTICE, "drift", what + more, area.differences[0].target, command)

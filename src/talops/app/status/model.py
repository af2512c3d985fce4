"""What was read of a cluster, and its judgement: rows, next command, exit code. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from talops.pipeline.checks import CheckResult, Verdict
from talops.plural import count
from talops.views.status import Level, Row, Status
from talops.views.words import ago, duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.pipeline.checks import Finding
    from talops.pipeline.history import PastRun

DAY = timedelta(days=1)
# A comparison with the inventory that is older than this is worth repeating.
STALE = 7 * DAY
NOTICE = 30 * DAY
MOST_DETAILS = 3


@dataclass(frozen=True)
class Comparison:
    """The last time that the cluster was compared with the inventory, and by which command."""

    at: datetime
    command: str
    differs: bool


@dataclass(frozen=True)
class Seen:
    """None: it could not be read. `running`: the run that holds the lock of this directory.
    `left`: versions that tuppr upgrades.
    """

    checks: Sequence[CheckResult]
    talos: Mapping[str, str]
    kubernetes: Mapping[str, str]
    certificates: Mapping[str, datetime]
    marks: Mapping[str, str] | None
    cordoned: Sequence[str] = ()
    compared: Comparison | None = None
    running: str = ""
    pause: str = ""
    window: str = ""
    last: PastRun | None = None
    backups: Sequence[Finding] = ()
    left: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)


def judge(cluster: str, wanted: Mapping[str, str], seen: Seen, now: datetime) -> Status:
    """`wanted`: the versions of the inventory, as `talos` and `kubernetes`."""
    rows = [
        _health(seen.checks),
        _versions(wanted, seen),
        _drift(seen.compared, now),
        _certificates(seen, now),
        _backups(seen.backups),
        _under_way(seen),
        _last_run(seen, now),
    ]
    if seen.window:
        rows.append(Row("maintenance", Level.GOOD, seen.window))
    return Status(cluster, now, tuple(rows))


def _health(checks: Sequence[CheckResult]) -> Row:
    passed = [c for c in checks if c.verdict in {Verdict.PASSED, Verdict.SKIPPED, Verdict.WARNING}]
    text = f"{len(passed)} of {count(len(checks), 'check')} passed"
    wrong = _findings(checks, Verdict.FAILED)
    if wrong:
        hint = next((f.hint for f in wrong if f.hint), None) or "talops verify"
        return Row("health", Level.BAD, text, _told(wrong), hint)
    doubtful = _findings(checks, Verdict.UNPROVEN)
    if doubtful:
        return Row("health", Level.UNKNOWN, text, _told(doubtful), "talops verify")
    warned = _findings(checks, Verdict.WARNING)
    if warned:
        hint = next((f.hint for f in warned if f.hint), None) or "talops verify"
        return Row("health", Level.NOTICE, text, _told(warned), hint)
    return Row("health", Level.GOOD, text)


def _findings(checks: Sequence[CheckResult], verdict: Verdict) -> list[Finding]:
    return [f for c in checks if c.verdict is verdict for f in c.findings if f.verdict is verdict]


def _told(findings: Sequence[Finding]) -> tuple[str, ...]:
    left = len(findings) - MOST_DETAILS
    more = (f"and {left} more: talops verify",) if left > 0 else ()
    return (*(str(f) for f in findings[:MOST_DETAILS]), *more)


def _versions(wanted: Mapping[str, str], seen: Seen) -> Row:
    parts, other, ours = [], [], False
    for name, title in (("talos", "Talos"), ("kubernetes", "Kubernetes")):
        running = getattr(seen, name)
        if not running:
            parts.append(f"{title} unknown")
            continue
        right = sum(version == wanted[name] for version in running.values())
        parts.append(f"{title} {wanted[name]} ({right} of {len(running)})")
        groups = _grouped({n: v for n, v in running.items() if v != wanted[name]})
        by = " (tuppr upgrades it)" if title in seen.left else ""
        other += [f"{title} {version}: {', '.join(n)}{by}" for version, n in groups.items()]
        ours = ours or bool(groups and not by)
    text = " · ".join(parts)
    if not (seen.talos and seen.kubernetes):
        why = tuple(seen.unread.values())[:1]
        return Row("versions", Level.UNKNOWN, text, (*other, *why), "talops verify")
    level = Level.NOTICE if other else Level.GOOD
    return Row("versions", level, text, tuple(other), "talops plan" if ours else "")


def _grouped(running: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, version in sorted(running.items()):
        found.setdefault(version, []).append(name)
    return found


def _drift(compared: Comparison | None, now: datetime) -> Row:
    if compared is None:
        return Row("drift", Level.NOTICE, "not compared from this directory", (), "talops drift")
    text = f"compared {ago(compared.at, now)} ({compared.command})"
    if compared.differs:
        return Row("drift", Level.NOTICE, f"{text}: differences", (), "talops plan")
    if now - compared.at > STALE:
        return Row("drift", Level.NOTICE, f"{text}: no differences then", (), "talops drift")
    return Row("drift", Level.GOOD, f"{text}: no differences")


def _certificates(seen: Seen, now: datetime) -> Row:
    if not seen.certificates:
        why = seen.unread.get("certificates", "none could be read")
        return Row("certificates", Level.UNKNOWN, why, (), "talops verify")
    parts, level = [], Level.GOOD
    for name, at in sorted(seen.certificates.items(), key=lambda each: each[1]):
        left = at - now
        parts.append(
            f"{name} {count(left.days, 'day')}" if left > timedelta() else f"{name} expired"
        )
        if left <= timedelta():
            level = Level.BAD
        elif left < NOTICE and level is Level.GOOD:
            level = Level.NOTICE
    return Row(
        "certificates", level, " · ".join(parts), (), "" if level is Level.GOOD else "talops verify"
    )


# The worst finding about backups decides.
_LEVELS = {
    Verdict.PASSED: Level.GOOD,
    Verdict.SKIPPED: Level.NOTICE,
    Verdict.WARNING: Level.NOTICE,
    Verdict.UNPROVEN: Level.UNKNOWN,
    Verdict.FAILED: Level.BAD,
}


def _backups(found: Sequence[Finding]) -> Row:
    if not found:
        return Row("backups", Level.NOTICE, "none known")
    verdict = CheckResult("backups", tuple(found)).verdict
    worst = next(each for each in found if each.verdict is verdict)
    text = " · ".join(each.what for each in found)
    return Row("backups", _LEVELS[verdict], text, (), worst.hint or "")


def _under_way(seen: Seen) -> Row:
    parts = [seen.running] if seen.running else []
    parts += [f"{name}: {text}" for name, text in sorted((seen.marks or {}).items())]
    if seen.cordoned:
        parts.append(f"cordoned, not by talops: {', '.join(seen.cordoned)}")
    if seen.pause:
        parts.append(seen.pause)
    if seen.marks is None and not parts:
        return Row("in progress", Level.UNKNOWN, seen.unread.get("kubernetes", "not known"))
    if not parts:
        return Row("in progress", Level.GOOD, "nothing")
    hint = "talops resume" if seen.pause else ("" if seen.running else "talops up")
    if not (seen.pause or seen.running or seen.marks):
        hint = f"kubectl uncordon {seen.cordoned[0]}"
    return Row("in progress", Level.NOTICE, parts[0], tuple(parts[1:]), hint)


def _last_run(seen: Seen, now: datetime) -> Row:
    run = seen.last
    if run is None:
        return Row("last run", Level.GOOD, "none in this directory")
    took = f" in {duration(run.seconds)}" if run.seconds is not None else ""
    began = ago(datetime.fromisoformat(run.info.started), now)
    text = f"{run.info.command}, {run.status} {began}{took}"
    if run.status in {"failed", "killed", "interrupted"}:
        why = (str((run.error or {}).get("what") or ""),) if run.error else ()
        return Row("last run", Level.NOTICE, text, tuple(filter(None, why)), "talops runs log")
    return Row("last run", Level.GOOD, text)


def versions_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: version for name, version in pairs if version}

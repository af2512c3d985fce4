"""Checks: each examines one thing and reports every finding; all checks always run."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from talops.redaction import Redactor

# A check that takes longer fails with "no answer".
SECONDS = 120.0


class Verdict(StrEnum):
    """`unproven`: the check ran, but its result is neither proof of success nor of failure."""

    PASSED = "passed"
    SKIPPED = "skipped"
    UNPROVEN = "unproven"
    WARNING = "warning"
    FAILED = "failed"


_GRAVITY = list(Verdict)


@dataclass(frozen=True)
class Finding:
    """`final`: waiting will not change the result."""

    verdict: Verdict
    what: str
    where: str | None = None
    hint: str | None = None
    final: bool = False

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}"


def passed(what: str, where: str | None = None) -> Finding:
    return Finding(Verdict.PASSED, what, where)


def skipped(what: str, hint: str | None = None) -> Finding:
    return Finding(Verdict.SKIPPED, what, hint=hint)


def unproven(what: str, where: str | None = None, hint: str | None = None) -> Finding:
    return Finding(Verdict.UNPROVEN, what, where, hint)


def warning(what: str, where: str | None = None, hint: str | None = None) -> Finding:
    return Finding(Verdict.WARNING, what, where, hint)


def failed(
    what: str, where: str | None = None, hint: str | None = None, *, final: bool = False
) -> Finding:
    return Finding(Verdict.FAILED, what, where, hint, final)


def from_error(error: TalopsError) -> Finding:
    return failed(error.what, error.where, error.hint)


@dataclass(frozen=True)
class Check:
    name: str
    look: Callable[[], Awaitable[Sequence[Finding]]]


@dataclass(frozen=True)
class CheckResult:
    name: str
    findings: tuple[Finding, ...]
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The most severe of its findings."""
        found = [finding.verdict for finding in self.findings]
        return max(found, key=_GRAVITY.index, default=Verdict.UNPROVEN)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "verdict": self.verdict,
            "seconds": self.seconds,
            "findings": [asdict(finding) for finding in self.findings],
        }


async def run_checks(checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """Run all checks in parallel; an error that a check raises becomes its finding."""
    return tuple(await asyncio.gather(*(_run(check) for check in checks)))


def failures(results: Sequence[CheckResult]) -> list[Finding]:
    return [f for r in results for f in r.findings if f.verdict is Verdict.FAILED]


async def _run(check: Check) -> CheckResult:
    started = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS):
            found = tuple(await check.look())
    except TalopsError as error:
        found = (from_error(error),)
    except TimeoutError:
        found = (failed(f"no answer in {SECONDS:.0f} s"),)
    return CheckResult(check.name, found, round(time.monotonic() - started, 3))


async def settled(
    look: Callable[[], Awaitable[Sequence[CheckResult]]],
    *,
    wait: float = 0.0,
    count: int = 1,
    interval: float = 5.0,
    report: Callable[[Sequence[CheckResult], int], None] = lambda _results, _passes: None,
) -> Sequence[CheckResult]:
    """Run until everything passes `count` times in a row or `wait` seconds pass; the last results.

    A final failure ends it immediately.
    """
    deadline = time.monotonic() + wait
    passes = 0
    while True:
        results = await look()
        wrong = failures(results)
        passes = 0 if wrong else passes + 1
        report(results, passes)
        over = bool(wrong) and time.monotonic() + interval > deadline
        if passes >= count or over or any(finding.final for finding in wrong):
            return results
        await asyncio.sleep(interval)


def masked(results: Sequence[CheckResult], redact: Redactor) -> tuple[CheckResult, ...]:
    """The same results with secrets masked."""
    return tuple(
        replace(
            result,
            findings=tuple(
                replace(f, what=redact(f.what), where=redact(f.where) if f.where else None)
                for f in result.findings
            ),
        )
        for result in results
    )

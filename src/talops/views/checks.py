"""Check results as text: a mark, a name, and a line per finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.pipeline.checks import CheckResult, Finding

MARKS = {
    Verdict.PASSED: "✓",
    Verdict.SKIPPED: "-",
    Verdict.UNPROVEN: "?",
    Verdict.WARNING: "!",
    Verdict.FAILED: "✗",
}


def check_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    width = max((len(result.name) for result in results), default=0)
    for result in results:
        for number, finding in enumerate(result.findings):
            name = result.name if number == 0 else ""
            yield f"{MARKS[finding.verdict]} {name:<{width}}  {_says(finding)}"
            if finding.hint and finding.verdict is not Verdict.PASSED:
                yield f"  {'':<{width}}  next: {finding.hint}"
    yield summary(results)


def _says(finding: Finding) -> str:
    label = f"{finding.verdict}: " if finding.verdict in {Verdict.UNPROVEN, Verdict.SKIPPED} else ""
    return f"{label}{finding}"


def summary(results: Sequence[CheckResult]) -> str:
    """3 checks failed, 1 unproven, 9 passed."""
    parts = []
    for verdict in reversed(Verdict):
        count = sum(1 for result in results if result.verdict is verdict)
        if count:
            label = "with a warning" if verdict is Verdict.WARNING else verdict.value
            parts.append(f"{count} {label}")
    return f"{len(results)} checks: {', '.join(parts)}"

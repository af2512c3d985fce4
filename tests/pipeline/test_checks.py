"""Checks: run all together, repeated until they settle, shown as text and JUnit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from talops.errors import DeniedError
from talops.pipeline.checks import (
    Check,
    CheckResult,
    Finding,
    Verdict,
    failed,
    failures,
    masked,
    passed,
    run_checks,
    settled,
    skipped,
    unproven,
    warning,
)
from talops.redaction import Redactor, Secret
from talops.views.checks import check_lines, summary
from talops.views.junit import junit

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = (
    CheckResult("nodes", (failed("not Ready", "cp-1", "look at it"), passed("2 fine")), 0.5),
    CheckResult("etcd", (warning("large", "cp-1"),)),
    CheckResult("smoke", (passed("accepted"), unproven("pods"))),
    CheckResult("flux", (skipped("no repository"),)),
)


async def test_one_check_does_not_stop_another() -> None:
    """An error is what that check found."""

    async def good() -> Sequence[Finding]:
        return [passed("fine")]

    async def refused() -> Sequence[Finding]:
        raise DeniedError("no", where="there", hint="ask")

    results = await run_checks([Check("a", refused), Check("b", good)])
    assert [r.verdict for r in results] == [Verdict.FAILED, Verdict.PASSED]
    assert failures(results) == [failed("no", "there", "ask")]


def test_a_check_that_found_nothing_proved_nothing() -> None:
    """No finding is not a pass."""
    assert CheckResult("x", ()).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize(
    ("looks", "count", "wait", "calls"),
    [
        ("p", 1, 0, 1),
        ("f", 1, 0, 1),
        ("fpfpp", 2, 60, 5),
        ("ppp", 3, 0, 3),
        ("F", 1, 60, 1),
    ],
)
async def test_settling(looks: str, count: int, wait: float, calls: int) -> None:
    """So many passes in a row; a final failure is not waited for."""
    made = 0

    async def look() -> Sequence[CheckResult]:
        nonlocal made
        kind = looks[made]
        made += 1
        finding = passed("x") if kind == "p" else failed("x", final=kind == "F")
        return [CheckResult("a", (finding,))]

    await settled(look, wait=wait, count=count, interval=0.001)
    assert made == calls


def test_text_shows_everything() -> None:
    """A line per finding, the next command under what is wrong, and a summary."""
    text = "\n".join(check_lines(RESULTS))
    assert "✗ nodes  cp-1: not Ready" in text
    assert "next: look at it" in text
    assert "?        unproven: pods" in text
    assert summary(RESULTS) == "4 checks: 1 failed, 1 with a warning, 1 unproven, 1 skipped"


def test_junit_counts_only_what_was_proven() -> None:
    """Unproven is shown as skipped, with its reason; control characters do not break the file."""
    odd = CheckResult("odd", (failed("bell \x07 <&>"),))
    root = ET.fromstring(junit([*RESULTS, odd], suite="verify"))
    assert root.attrib["tests"] == "5"
    assert root.attrib["failures"] == "2"
    assert root.attrib["skipped"] == "2"
    smoke = next(case for case in root if case.attrib["name"] == "smoke")
    skipped_at = smoke.find("skipped")
    assert skipped_at is not None
    assert skipped_at.attrib["message"] == "unproven: pods"


def test_findings_leave_masked() -> None:
    """Also where a server's answer repeats a secret."""
    result = CheckResult("a", (failed("token hunter22 refused", "https://x/hunter22"),))
    (shown,) = masked([result], Redactor([Secret("hunter22")]))
    assert "hunter22" not in str(shown)

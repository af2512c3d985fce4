"""Check results as JUnit XML for CI systems."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from talops.pipeline.checks import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import CheckResult

_CONTROL = {code: None for code in range(32) if chr(code) not in "\t\n\r"}


def junit(results: Sequence[CheckResult], *, suite: str) -> str:
    """Failed checks are failures; skipped and unproven checks do not count as passed."""
    verdicts = [result.verdict for result in results]
    left_out = {Verdict.SKIPPED, Verdict.UNPROVEN}
    root = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(results)),
        failures=str(verdicts.count(Verdict.FAILED)),
        skipped=str(sum(1 for verdict in verdicts if verdict in left_out)),
        errors="0",
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ET.SubElement(
            root, "testcase", classname=suite, name=result.name, time=f"{result.seconds:.3f}"
        )
        _outcome(case, result)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _outcome(case: ET.Element, result: CheckResult) -> None:
    lines = [f"{finding.verdict}: {finding}" for finding in result.findings]
    worst = [f for f in result.findings if f.verdict is result.verdict]
    message = _clean("; ".join(map(str, worst)))
    if result.verdict is Verdict.FAILED:
        ET.SubElement(case, "failure", message=message, type="failed")
    elif result.verdict in {Verdict.SKIPPED, Verdict.UNPROVEN}:
        ET.SubElement(case, "skipped", message=f"{result.verdict}: {message}")
    ET.SubElement(case, "system-out").text = _clean("\n".join(lines))


def _clean(text: str) -> str:
    """XML cannot represent most control characters."""
    return text.translate(_CONTROL)

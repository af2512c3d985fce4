"""What findings say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import CheckResult, Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


def verdict(findings: Sequence[Finding]) -> Verdict:
    return CheckResult("x", tuple(findings)).verdict


def words(findings: Sequence[Finding]) -> str:
    return "\n".join(map(str, findings))

"""The host's findings as a check of a run."""

from __future__ import annotations

import pytest

from talops.checks.before.host import judge
from talops.pipeline.checks import Verdict
from talops.proxmox.check import Finding, Severity

WRONG = Finding("bridge", "no bridge", "make one", "pve")
REMARK = Finding("memory", "little memory", "free some", "pve", Severity.WARNING)
LEFT = Finding("leftover", "VM 111 is there", "remove it", "nodes.yaml:2:5")


@pytest.mark.parametrize(
    ("found", "strict", "verdicts"),
    [
        ([], True, [Verdict.PASSED]),
        ([WRONG, REMARK], False, [Verdict.FAILED, Verdict.WARNING]),
        ([LEFT], True, [Verdict.FAILED]),
        ([LEFT], False, [Verdict.WARNING]),
    ],
)
def test_what_refuses_a_run(found: list[Finding], strict: bool, verdicts: list[Verdict]) -> None:
    """A run that continues a killed one is not stopped by what that one left."""
    assert [each.verdict for each in judge(found, "https://pve:8006", strict=strict)] == verdicts

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
    ("found", "verdicts"),
    [
        ([], [Verdict.PASSED]),
        ([WRONG, REMARK], [Verdict.FAILED, Verdict.WARNING]),
        ([LEFT], [Verdict.FAILED]),
    ],
)
def test_what_refuses_a_run(found: list[Finding], verdicts: list[Verdict]) -> None:
    """A VM that is not ours stops a run; what a killed run left is no finding."""
    assert [each.verdict for each in judge(found, "https://pve:8006")] == verdicts

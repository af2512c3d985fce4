"""The host's findings as a check of a run."""

from __future__ import annotations

import pytest

from talops.checks.before.host import judge
from talops.pipeline.checks import Verdict
from talops.problems import Severity
from talops.proxmox.check.problem import HostProblem, problem

WRONG = problem("bridge", "no bridge", "make one", "pve")
REMARK = problem("memory", "little memory", "free some", "pve", Severity.WARNING)
LEFT = problem("leftover", "VM 111 is there", "remove it", "nodes.yaml:2:5")


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        ([], [Verdict.PASSED]),
        ([WRONG, REMARK], [Verdict.FAILED, Verdict.WARNING]),
        ([LEFT], [Verdict.FAILED]),
    ],
)
def test_what_refuses_a_run(found: list[HostProblem], verdicts: list[Verdict]) -> None:
    """A VM that is not ours stops a run; what a killed run left is not a finding."""
    assert [each.verdict for each in judge(found, "https://pve:8006")] == verdicts

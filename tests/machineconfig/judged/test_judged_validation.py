"""Our validator's cases before the real Talos library: it sees each of them as we say it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.machineconfig.test_validation import CASES, build
from tests.oracle.judges import JUDGES

from talops.machineconfig import yamltext

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_case(case: dict[str, Any], bundle: Bundle, oracle: Callable[[str], Oracle]) -> None:
    """Talos refuses what talops refuses, save where the case says that talops is stricter."""
    judge = oracle(JUDGES[case.get("contract", "1.12")])
    text = yamltext.dump_all(build(case, bundle))
    complaints = judge.complaints(text, modes=["metal"])
    refused = "problem" in case and case.get("talos") != "accepts"
    assert bool(complaints) is refused, complaints

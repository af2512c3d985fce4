"""Every source: three fixtures of growing size become inventories that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.importing import (
    sources,
    talhelper_samples,
    talosctl_samples,
    template_samples,
    topf_samples,
)
from tests.oracle.judges import JUDGES

from talops.importing.proposal import propose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.oracle.asking import Oracle

    from talops.machineconfig.secrets.bundle import Bundle

TOOLS: dict[str, Any] = {
    "talhelper": talhelper_samples,
    "talosctl": talosctl_samples,
    "topf": topf_samples,
    "cluster-template": template_samples,
}
CASES = [(tool, size) for tool, module in TOOLS.items() for size in module.SAMPLES]


def sample(tool: str, size: str, bundle: Bundle, folder: Path) -> Path:
    return sources.write(folder, TOOLS[tool].files(size, bundle))


@pytest.mark.parametrize(("tool", "size"), CASES)
def test_imports_change_nothing(
    tool: str,
    size: str,
    bundle: Bundle,
    tmp_path: Path,
    oracle: Callable[[str], Oracle],
) -> None:
    """No difference, nothing left behind, and the real Talos library accepts every config."""
    found = sources.found_in(tool, sample(tool, size, bundle, tmp_path))
    proposal = propose(found)
    assert proposal.differences == ()
    assert proposal.left == ()
    assert {node.name for node in found.nodes} == set(proposal.configs)
    assert proposal.bundle == bundle
    judge = oracle(JUDGES[proposal.bundle.contract or ""])
    for node in found.nodes:
        assert judge.complaints(proposal.configs[node.name].to_yaml(), ["metal"]) == []

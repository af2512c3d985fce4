"""What is exported and imported again is the same cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.importing import sources
from tests.importing.test_sources import CASES, sample

from talops.importing.comparison import differing_leaves
from talops.importing.exporting import WRITERS, export_files
from talops.importing.exports.model import Exported
from talops.importing.proposal import propose

if TYPE_CHECKING:
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle


@pytest.mark.chaos
@pytest.mark.parametrize("to", sorted(WRITERS))
@pytest.mark.parametrize(("tool", "size"), CASES)
def test_every_export_and_import_is_the_identity(
    tool: str, size: str, to: str, bundle: Bundle, tmp_path: Path
) -> None:
    """Same nodes, same secrets, same configs, and again no difference: the whole matrix."""
    check(tool, size, to, bundle, tmp_path)


@pytest.mark.parametrize(("tool", "size"), [case for case in CASES if case[1] != "single"])
def test_export_and_import_is_the_identity(
    tool: str, size: str, bundle: Bundle, tmp_path: Path
) -> None:
    """To the tool that the cluster came from."""
    check(tool, size, tool if tool in WRITERS else "topf", bundle, tmp_path)


def check(tool: str, size: str, to: str, bundle: Bundle, tmp_path: Path) -> None:
    source = sample(tool, size, bundle, tmp_path / "source")
    first = propose(sources.found_in(tool, source))
    configs = {name: config.documents for name, config in first.configs.items()}
    files = export_files(to, Exported(first.cluster, first.bundle, configs))
    addresses = {node.name: str(node.address) for node in first.cluster.nodes}
    again = propose(sources.found_in(to, sources.write(tmp_path / "again", files), addresses))
    assert again.differences == ()
    assert again.left == ()
    assert again.bundle == first.bundle
    assert [(n.name, n.address, n.controller) for n in again.cluster.nodes] == [
        (n.name, n.address, n.controller) for n in first.cluster.nodes
    ]
    for name, documents in configs.items():
        assert list(differing_leaves(documents, again.configs[name].documents)) == []

"""Every example inventory gives the expected configs, for contract 1.14 and for the one before.

`GOLDEN=write pytest tests/machineconfig/test_golden.py` updates the expectations; look at the
difference before you commit it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.inventory.load import load
from talops.inventory.support import minor
from talops.machineconfig import yamltext
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").iterdir())
GOLDEN = Path(__file__).parent / "golden"
NEW = "v1.14.1"


def shown(cluster: Cluster) -> list[Node]:
    """The first control plane and the first worker; the others differ in name and address."""
    return [*cluster.control_planes[:1], *cluster.workers[:1]]


def as_before(cluster: Cluster) -> Cluster:
    """The same cluster, had it been created before Talos 1.14."""
    if minor(cluster.talos_version) < minor(NEW):
        return cluster
    return replace(cluster, talos_version="v1.13.9", talos_contract="v1.13")


def as_new(cluster: Cluster) -> Cluster:
    """The same cluster, had it been created with Talos 1.14."""
    return replace(
        cluster,
        talos_version=NEW,
        talos_contract="v1.14",
        kubernetes_version="v1.36.3",
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("new", [False, True], ids=["before 1.14", "contract 1.14"])
def test_example(example: Path, bundle: Bundle, masked: Callable[[Any], Any], new: bool) -> None:
    """The configs are valid and mean what is written down, secrets shown by name."""
    cluster = load(example).require()
    if new:
        cluster, bundle = as_new(cluster), replace(bundle, contract=Contract.V1_14)
    else:
        cluster = as_before(cluster)
    configs = build_configs(
        cluster, bundle, lambda name: (example / name).read_text(encoding="utf-8")
    )
    assert list(configs) == list(cluster.node_names)
    for node in shown(cluster):
        documents = masked(yamltext.load_all(configs[node.name].to_yaml(), where=node.name))
        folder = GOLDEN / "1.14" if new else GOLDEN
        path = folder / f"{example.name}-{node.role}.yaml"
        if os.environ.get("GOLDEN") == "write":
            path.write_text(yamltext.dump_all(documents), encoding="utf-8")
        golden = path.read_text(encoding="utf-8")
        assert documents == yamltext.load_all(golden, where=path.name)

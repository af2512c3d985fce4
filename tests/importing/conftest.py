"""Clusters as another tool would describe them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.examples import EXAMPLES, bundle, example

from talops.importing.model import FoundCluster, FoundNode
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.examples import Example

    from talops.machineconfig.secrets.bundle import Bundle

__all__ = ["bundle", "example"]


@pytest.fixture(scope="session")
def found(example: Example, bundle: Bundle) -> Callable[[str], FoundCluster]:
    """An example of talops, as if another tool had made its configs."""

    def get(name: str) -> FoundCluster:
        cluster = example(name)
        pinned = replace(bundle, contract=Contract.for_version(cluster.talos_version))
        folder = EXAMPLES / name
        configs = build_configs(cluster, pinned, lambda patch: (folder / patch).read_text("utf-8"))
        nodes = [
            FoundNode(node.name, node.address, node.controller, configs[node.name].documents)
            for node in cluster.nodes
        ]
        versions = (cluster.talos_version, cluster.kubernetes_version)
        return FoundCluster("a test", cluster.name, *versions, bundle, tuple(nodes))

    return get

"""Inventories of the examples, and Kubernetes nodes that are as they say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.checks.after.nodes import CONTROL_PLANE, wanted_taints
from talops.inventory.load import load
from talops.inventory.model import Cluster, Node
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = Path(__file__).parents[1] / "examples"
Example = Callable[[str], Cluster]


@pytest.fixture(scope="session")
def example() -> Example:
    known: dict[str, Cluster] = {}

    def get(name: str) -> Cluster:
        if name not in known:
            known[name] = load(EXAMPLES / name).require()
        return known[name]

    return get


def kube_node(cluster: Cluster, node: Node, **status: Any) -> dict[str, Any]:
    """As Kubernetes shows a node that is right."""
    role = {CONTROL_PLANE: ""} if node.controller else {}
    taints = []
    for text in wanted_taints(cluster, node):
        name, _, effect = text.rpartition(":")
        key, _, value = name.partition("=")
        taints.append({"key": key, "effect": effect, **({"value": value} if value else {})})
    return {
        "metadata": {"name": node.name, "labels": {**role, **node.labels}},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], **status},
    }


def kube_nodes(cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {node.name: kube_node(cluster, node) for node in cluster.nodes}


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    """Made once for all tests of a worker: it holds an RSA key of 4096 bits."""
    return bundles.generate(datetime.now(UTC))

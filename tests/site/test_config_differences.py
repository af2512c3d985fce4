"""Which parts of a machine config differ: named without their values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.inventory.load import load
from talops.machineconfig import yamltext
from talops.machineconfig.build import build_configs
from talops.machineconfig.secrets.bundle import generate
from talops.site.config_differences import differing, same

if TYPE_CHECKING:
    from talops.machineconfig.generate import MachineConfig

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def config() -> MachineConfig:
    cluster = load(EXAMPLES / "dev").require()
    return build_configs(cluster, generate(datetime.now(UTC)), lambda name: name)["dev-cp-1"]


def changed(config: MachineConfig, change: Any) -> str:
    documents = yamltext.load_all(config.to_yaml(), where="test")
    change(documents)
    return yamltext.dump_all(documents)


def test_the_same_config_is_the_same(config: MachineConfig) -> None:
    """Also in another order of documents."""
    assert same(config.to_yaml(), config)
    assert same(changed(config, lambda documents: documents.reverse()), config)


def test_a_node_without_config_differs_wholly(config: MachineConfig) -> None:
    """Nothing readable is not the same as nothing different."""
    assert differing("", config) == ("the whole config",)


def test_sections_are_named(config: MachineConfig) -> None:
    """Section by section, and no value with them."""

    def change(documents: list[Any]) -> None:
        documents[0]["machine"]["kubelet"]["image"] = "other"
        documents[0]["cluster"]["token"] = "stolen"

    found = differing(changed(config, change), config)
    assert found == ("machine.kubelet", "cluster.token")


def test_missing_and_extra_documents_are_named(config: MachineConfig) -> None:
    """By kind and name."""

    def change(documents: list[Any]) -> None:
        del documents[1]
        documents.append({"apiVersion": "v1alpha1", "kind": "DummyLinkConfig", "name": "dummy0"})

    found = differing(changed(config, change), config)
    assert len(found) == 2
    assert found[1] == "DummyLinkConfig/dummy0"

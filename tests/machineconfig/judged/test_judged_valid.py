"""The real Talos library takes every config that talops writes, strictly and in every mode."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.inventory.strategies import rich_inventories
from tests.oracle.judges import JUDGES

from talops.inventory.load import load
from talops.machineconfig import yamltext
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").iterdir())
GOLDENS = sorted((Path(__file__).parents[1] / "golden").rglob("*.yaml"))
RANDOM_INVENTORIES, PARTS, SAMPLE = 500, 4, 60

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("contract", list(Contract))
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples(
    example: Path, contract: Contract, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> None:
    """Every node of every example, for every contract."""
    found = complaints(load(example).require(), contract, bundle, oracle, example)
    assert found == {}


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_goldens(
    golden: Path, unmasked: Callable[[Any], Any], oracle: Callable[[str], Oracle]
) -> None:
    """The written-down expectations, with secrets in the place of their names."""
    documents = unmasked(yamltext.load_all(golden.read_text(encoding="utf-8"), where=golden.name))
    minor = "1.14" if golden.parent.name == "1.14" else "1.13"
    assert oracle(minor).complaints(yamltext.dump_all(documents)) == []


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (PARTS, SAMPLE),
        *(
            pytest.param(part, RANDOM_INVENTORIES // PARTS, marks=pytest.mark.chaos)
            for part in range(PARTS)
        ),
    ],
)
def test_random_inventories(
    part: int, count: int, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> None:
    """Whatever the inventory asks for, as long as talops has no objection, for every contract."""

    @seed(int(os.environ["SEED"]) * (PARTS + 1) + part)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(pair=rich_inventories())
    def judged(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in zip(("cluster.yaml", "nodes.yaml"), pair, strict=True):
                (folder / file).write_text(
                    json.dumps(content, ensure_ascii=False), encoding="utf-8"
                )
            cluster = load(folder).require()
            for contract in Contract:
                assert complaints(cluster, contract, bundle, oracle, folder) == {}

    judged()


def readable(cluster: Cluster, contract: Contract) -> Cluster:
    """The same cluster on a Talos that knows the contract, if its own does not."""
    if Contract.for_version(cluster.talos_version).numbers >= contract.numbers:
        return cluster
    return replace(cluster, talos_version=f"v{contract}.1")


def complaints(
    cluster: Cluster,
    contract: Contract,
    bundle: Bundle,
    oracle: Callable[[str], Oracle],
    folder: Path,
) -> dict[str, list[str]]:
    configs = build_configs(
        readable(cluster, contract),
        replace(bundle, contract=contract),
        lambda name: (folder / name).read_text(encoding="utf-8"),
    )
    judge = oracle(JUDGES[contract])
    found = {name: judge.complaints(config.to_yaml()) for name, config in configs.items()}
    assert found
    return {name: texts for name, texts in found.items() if texts}

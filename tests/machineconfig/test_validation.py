"""The validator, by data: valid configs with one thing changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

CASE_FILE = Path(__file__).parent / "validation_cases.yaml"
CASES = yamltext.load(CASE_FILE.read_text(encoding="utf-8"), where=CASE_FILE.name)


def documents(role: str, contract: Contract, bundle: Bundle) -> list[dict[str, Any]]:
    cluster = ClusterRequest("demo", contract, "https://10.5.0.10:6443", "1.35.2")
    node = NodeRequest("n", role == "controlplane", "installer:v1", "/dev/sda", hostname="n")
    return copy.deepcopy(list(generate(cluster, node, bundle).documents))


def resolve(value: Any, bundle: Bundle) -> Any:
    """`@etcd.key` stands for that key of the test's bundle."""
    if isinstance(value, dict):
        return {key: resolve(item, bundle) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("@"):
        pair, part = value[1:].split(".")
        found = getattr(getattr(bundle, pair), part)
        return found if isinstance(found, str) else found.reveal()
    return value


def change(main: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for part in parents:
        main = main.setdefault(part, {})
    if value is None:
        main.pop(last, None)
    else:
        main[last] = value


def build(case: dict[str, Any], bundle: Bundle) -> list[dict[str, Any]]:
    contract = Contract(case.get("contract", "1.12"))
    result = documents(case["role"], contract, bundle)
    for path, value in case.get("set", {}).items():
        change(result[0], path, resolve(value, bundle))
    replaced = {document["kind"] for document in case.get("replace", [])}
    kept = [document for document in result if document.get("kind") not in replaced]
    return [*kept, *case.get("replace", []), *case.get("add", [])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_validation(case: dict[str, Any], bundle: Bundle) -> None:
    """Exactly the expected problem is found, and nothing beside it."""
    found = find_problems(build(case, bundle), Contract(case.get("contract", "1.12")))
    if "problem" in case:
        assert len(found) == 1, found
        assert case["problem"] in found[0]
    else:
        assert found == []


def test_every_problem_at_once(bundle: Bundle) -> None:
    """A config with several mistakes is reported whole."""
    config = documents("controlplane", Contract.V1_13, bundle)
    change(config[0], "machine.install.disk", None)
    change(config[0], "cluster.token", "")
    change(config[0], "cluster.controlPlane", None)
    found = " ".join(find_problems(config, Contract.V1_13))
    for text in ("install disk", "bootstrap token", "controlplane endpoint"):
        assert text in found


def test_a_ca_key_in_a_workers_document(bundle: Bundle) -> None:
    """The key is found in the new shape, too, where Talos itself lets it pass."""
    config = documents("worker", Contract.V1_14, bundle)
    plane = documents("controlplane", Contract.V1_14, bundle)
    kind = "KubeAPIServerCAConfig"
    kept = [document for document in config if document.get("kind") != kind]
    with_key = [document for document in plane if document.get("kind") == kind]
    [problem] = find_problems([*kept, *with_key], Contract.V1_14)
    assert "cluster CA key is not allowed" in problem


def test_problems_hold_no_secrets(bundle: Bundle) -> None:
    """A message about a wrong key never shows the key."""
    config = documents("controlplane", Contract.V1_13, bundle)
    config[0]["cluster"]["ca"]["key"] = bundle.etcd.key.reveal()
    text = " ".join(find_problems(config))
    assert text
    assert not any(secret.reveal() in text for secret in bundle.secrets() if secret)


def test_nothing_is_no_config() -> None:
    """An empty file is refused in Talos' words."""
    assert find_problems([]) == ["machine instructions are required"]

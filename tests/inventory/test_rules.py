"""Every rule by data: tests/cases/inventory holds what each refuses and what it lets pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from talops.inventory import fields, operating
from talops.inventory.load import _WHOLE_FILE, load
from talops.inventory.rules import all_rules

CASES = Path(__file__).parent.parent / "cases" / "inventory"
CLUSTER = """\
cluster_name: home
talos_version: v1.13.9
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/24
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
"""
NODES = "nodes:\n  - name: cp-1\n    address: 10.0.0.11\n    controller: true\n"
# These need a file system, not a text: test_source.py has them.
OTHERS = ("plain-credential", "patch-file", "named-file", "control-character")
BY_FILE_SYSTEM = {"missing-file", "unreadable", "outside-tree", "too-large", "encoding"}


def read_cases() -> list[Any]:
    rows = []
    for path in sorted(CASES.glob("*.yaml")):
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        for case in content["cases"]:
            kind = "fails" if "fails" in case else "passes"
            rows.append(
                pytest.param(content["rule"], case, id=f"{path.stem}: {kind}: {case[kind]}")
            )
    return rows


@pytest.mark.parametrize(("rule", "case"), read_cases())
def test_case(rule: str, case: dict[str, Any], tmp_path: Path) -> None:
    """A failing case gives exactly its problems; a passing one gives none and a cluster."""
    (tmp_path / "cluster.yaml").write_text(case.get("cluster", CLUSTER), encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(case.get("nodes", NODES), encoding="utf-8")
    loaded = load(tmp_path)
    mine = [str(problem) for problem in loaded.problems if problem.rule == rule]
    assert mine == case.get("problems", [])
    if "passes" in case:
        assert loaded.cluster is not None


def known_rules() -> set[str]:
    """All names that a problem can carry: rules, kinds of values, kinds of files."""
    texts = [Path(file).read_text("utf-8") for file in (fields.__file__, operating.__file__)]
    refused = set(re.findall(r'refuse\(\s*"([a-z-]+)"', "".join(texts)))
    parsed = {"unknown-key", "foreign-keys", "type", "missing-key", "duplicate-key"}
    own = {name for name, _, _ in all_rules()}
    return own | refused | parsed | _WHOLE_FILE | {*OTHERS}


def test_every_rule_has_both_kinds_of_cases() -> None:
    """A rule without a failing and a passing case is not tested."""
    kinds: dict[str, set[str]] = {}
    for row in read_cases():
        rule, case = row.values
        kinds.setdefault(rule, set()).add("fails" if "fails" in case else "passes")
    lacking = {name for name in known_rules() - BY_FILE_SYSTEM if len(kinds.get(name, ())) < 2}
    assert not lacking
    assert not kinds.keys() - known_rules()


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    """One slip hides no other, in either file."""
    (tmp_path / "cluster.yaml").write_text(
        CLUSTER.replace("10.0.0.0/24", "10.0.0.7/24") + "node_dns_server: 1\nboot: floppy\n",
        encoding="utf-8",
    )
    (tmp_path / "nodes.yaml").write_text(
        NODES + "    vm_cores: many\n  - name: cp-1\n    controller: maybe\n", encoding="utf-8"
    )
    rules = [problem.rule for problem in load(tmp_path).problems]
    assert rules == [
        "cidr",
        "unknown-key",
        "type",
        "type",
        "missing-key",
        "duplicate-name",
        "type",
    ]

"""What once surprised people who operated a cluster: each row names the test that proves it gone.

The rows stay when the code around them changes: who renames or splits a test edits the table.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]


class Row(NamedTuple):
    """`tests`: file and function below tests/."""

    name: str
    wrong: str
    tests: tuple[str, ...]


LIFE = (
    Row(
        "life-01",
        "a worker without an entry was destroyed undrained, and stayed a Node",
        ("e2e/test_nodes.py::test_life_of_nodes",),
    ),
    Row(
        "life-02",
        "a control plane without an entry was destroyed and stayed an etcd member",
        (
            "e2e/test_nodes.py::test_life_of_nodes",
            "rolls/test_removal.py::test_a_member_without_a_machine_is_removed_first",
        ),
    ),
    Row(
        "life-03",
        "the hints led from one removal to the next until etcd had no majority",
        (
            "nodeplan/test_inplace.py::test_no_removal_while_another_member_is_lost",
            "nodeplan/test_order.py::test_no_order_passes_through_an_unsafe_state",
        ),
    ),
    Row(
        "life-04",
        "a control plane was resized while another one was down",
        (
            "nodeplan/test_order.py::test_no_restart_while_another_member_is_down",
            "security/cluster/test_row_05_etcd_guard.py::test_more_cores_while_a_member_is_off_starts_it_first",
        ),
    ),
    Row(
        "life-05",
        "a rename ended with its own VMID and MAC as problems",
        (
            "e2e/test_nodes.py::test_life_of_nodes",
            "nodeplan/test_inplace.py::test_what_up_refuses",
        ),
    ),
    Row(
        "life-06",
        "two swapped addresses restarted both nodes and waited in vain",
        (
            "e2e/test_nodes.py::test_life_of_nodes",
            "nodeplan/test_order.py::test_what_is_refused",
        ),
    ),
    Row(
        "life-07",
        "one line in a patch cut all nodes off at once",
        ("reconfigure/test_live.py::test_a_cluster_of_five",),
    ),
    Row(
        "life-08",
        "a patch that needs a reboot restarted all workers at once, undrained",
        (
            "reconfigure/test_live.py::test_a_cluster_of_five",
            "reconfigure/test_order.py::test_control_planes_one_by_one_then_workers",
        ),
    ),
    Row(
        "life-09",
        "a new kubernetes_version reached all nodes at once, kubelets before API servers",
        ("upgrades/kubernetes/test_hop.py::test_stops_where_it_must_and_goes_on",),
    ),
    Row(
        "life-10",
        "a new talos_version upgraded nothing and waited for it",
        ("e2e/test_upgrades.py::test_a_new_version",),
    ),
    Row(
        "life-11",
        "after two of three control planes were lost, up waited and named no way out",
        ("stages/test_founded_once.py::test_nothing_is_founded_twice",),
    ),
    Row(
        "life-12",
        "a fresh clone bootstrapped an empty etcd over a lost one",
        ("stages/test_founded_once.py::test_nothing_is_founded_twice",),
    ),
    Row(
        "life-13",
        "another encryption key in the secrets bundle took all API servers away",
        ("reconfigure/test_order.py::test_other_secrets",),
    ),
)
FIRST_DAYS = (
    Row(
        "bug-1",
        "the ISO of running VMs was deleted before the download of the new one failed",
        ("e2e/test_upgrades.py::test_a_new_version",),
    ),
    Row(
        "bug-2",
        "a VM renamed in Proxmox led to the advice to change its MAC and VMID",
        ("e2e/test_plan.py::test_the_plan_is_known_before_the_question",),
    ),
    Row(
        "bug-3",
        "a file edited by hand made drift say that the cluster does not exist",
        (
            "e2e/test_plan.py::test_the_plan_is_known_before_the_question",
            "app/test_drift.py::test_layers_behind_others_are_not_hidden",
        ),
    ),
    Row(
        "bug-4",
        "drift did not compare versions",
        (
            "e2e/test_upgrades.py::test_a_new_version",
            "app/test_drift.py::test_a_version_is_a_difference_of_its_own",
        ),
    ),
    Row(
        "bug-5",
        "a Talos version in the inventory never upgraded a node",
        ("upgrades/test_talos_hop.py::test_every_fault_stops_and_the_next_run_goes_on",),
    ),
    Row(
        "friction-1",
        "the plan was approved blind: restarts of VMs were known after the answer",
        ("e2e/test_plan.py::test_the_plan_is_known_before_the_question",),
    ),
    Row(
        "friction-7",
        "restarts of VMs did not drain nodes",
        ("e2e/test_nodes.py::test_life_of_nodes",),
    ),
    Row(
        "friction-12",
        "VMs were counted instead of named, and refusals came after the answer",
        ("e2e/test_plan.py::test_the_plan_is_known_before_the_question",),
    ),
    Row(
        "friction-13",
        "drift called a cluster with other versions equal",
        ("e2e/test_upgrades.py::test_a_new_version",),
    ),
    Row(
        "friction-14",
        "wait limits could not be set",
        ("app/test_timeouts.py::test_limits",),
    ),
)
ROWS = (*LIFE, *FIRST_DAYS)


@cache
def functions(path: Path) -> dict[str, ast.AST]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name: each for each in tree.body if isinstance(each, kinds)}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_test_proves_it(row: Row) -> None:
    """It exists under this name, asserts something, and is not switched off."""
    assert row.tests, row.wrong
    for test in row.tests:
        file, _, name = test.partition("::")
        found = functions(TESTS / file).get(name)
        assert found is not None, f"{row.name} ({row.wrong}) lost its test {test}"
        text = (TESTS / file).read_text(encoding="utf-8")
        assert "assert" in text
        assert "mark.skip" not in text
        assert "mark.xfail" not in text


def test_rows_have_names_of_their_own() -> None:
    """So that commits and reports can refer to them."""
    assert len({row.name for row in ROWS}) == len(ROWS)

"""A plan with import blocks → what stays different, and the state that it becomes.

`imported_plan.json` is `show -json` of OpenTofu 1.12.6 with bpg/proxmox 0.112.0 on the lab: an
image and a VM of talops, planned with import blocks into an empty state. Reduced to what is read.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from talops.adoption import completing
from talops.adoption.document import with_imported
from talops.adoption.judging import findings
from talops.tofu.plan import read_plan

SHOWN: dict[str, Any] = json.loads(
    Path(__file__).with_name("imported_plan.json").read_text("utf-8")
)
VM = 'module.node["e2e-cp-1"].proxmox_virtual_environment_vm.this'
IMAGE = next(c["address"] for c in SHOWN["resource_changes"] if c["address"] != VM)


URLS = {IMAGE: "https://factory.example/talos.iso"}


def changed(**values: Any) -> dict[str, Any]:
    """The VM has other values than the inventory."""
    shown = copy.deepcopy(SHOWN)
    change = next(c for c in shown["resource_changes"] if c["address"] == VM)["change"]
    change["before"] |= values
    return shown


def test_what_no_host_stores_is_not_a_difference() -> None:
    """The plan of OpenTofu alone would update both, and restart the VM for its agent block."""
    plan = read_plan(SHOWN)
    assert [change.actions for change in plan.acts] == [("update",), ("update",)]
    found = findings(plan)
    assert (found.refused, found.later) == ((), ())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"machine": "pc"}, "e2e-cp-1 machine: is pc, the inventory says q35 (restarts)"),
        ({"bios": "seabios"}, "e2e-cp-1 bios: is seabios"),
        ({"serial_device": []}, "e2e-cp-1 serial_device"),
        ({"agent": [{"enabled": True, "timeout": "15m"}]}, "e2e-cp-1 agent.0.enabled"),
        ({"agent": [{"enabled": False, "timeout": "1m"}]}, ""),
        ({"migrate": None}, ""),
    ],
)
def test_what_needs_a_restart_is_refused(values: dict[str, Any], words: str) -> None:
    """With the attribute and both values; settings of the provider itself are not."""
    found = findings(read_plan(changed(**values)))
    assert bool(found.refused) is bool(words), found
    assert words in " ".join(found.refused)


def test_marks_on_a_vm_are_set_later() -> None:
    """Tags, a description and a start order change nothing of a running machine."""
    found = findings(read_plan(changed(tags=[], description="", startup=[])))
    assert found.refused == ()
    assert found.later[0].startswith("update e2e-cp-1 online: description, startup")


def test_a_replacement_is_refused() -> None:
    """Whatever the reason."""
    shown = copy.deepcopy(SHOWN)
    change = next(c for c in shown["resource_changes"] if c["address"] == VM)["change"]
    change |= {"actions": ["delete", "create"], "replace_paths": [["vm_id"]]}
    assert findings(read_plan(shown)).refused == (f"{VM}: the plan replaces it for vm_id",)


def test_the_state_has_all_that_was_imported() -> None:
    """Addresses, completed attributes, outputs; a state that exists keeps its lineage and grows."""
    plan = read_plan(SHOWN)
    new = with_imported({}, SHOWN, plan, {VM, IMAGE}, URLS)
    assert completing.addresses(new) == {VM, IMAGE}
    assert completing.incomplete(new) == []
    assert (new["serial"], new["outputs"]["talos_vm_ids"]["value"]) == (1, {"e2e-cp-1": 111})
    only_image = with_imported({}, SHOWN, plan, {IMAGE}, URLS)
    whole = with_imported(only_image, SHOWN, plan, {VM}, URLS)
    assert completing.addresses(whole) == {VM, IMAGE}
    assert (whole["serial"], whole["lineage"]) == (2, only_image["lineage"])

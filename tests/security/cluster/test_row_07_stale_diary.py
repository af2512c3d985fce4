"""A stale record of creations opens no running node to destruction (row 7)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.world import address, node

from talops.tofu.creation_record import ADOPTED, CREATING, LIFETIME, CreationRecord
from talops.tofu.judge import judge
from talops.tofu.plan import read_plan
from talops.tofu.policy import Policy, refusals

if TYPE_CHECKING:
    from pathlib import Path


PLANES = ("cp-1", "cp-2", "cp-3")


def deleting() -> Any:
    """A plan that destroys all three control planes, which run."""
    changes = [
        {
            "address": address(name),
            "mode": "managed",
            "type": "proxmox_virtual_environment_vm",
            "change": {"actions": ["delete"], "before": node(name, started=True), "after": None},
        }
        for name in PLANES
    ]
    return read_plan({"format_version": "1.2", "resource_changes": changes})


@pytest.mark.parametrize("stage", [ADOPTED, CREATING])
def test_an_entry_of_the_diary_opens_no_running_node(tmp_path: Path, stage: str) -> None:
    """What was adopted or begun once runs now: destroying it needs its name."""
    diary = CreationRecord(tmp_path / "x.creating.json")
    diary.write([address(name) for name in PLANES], stage)
    plan = deleting()
    policy = Policy(fresh=diary.fresh(plan))
    found = judge(plan, {c.vm_id: frozenset({"scsi0"}) for c in plan.acts})
    assert {r.judged.name for r in refusals(found, policy)} == {*PLANES}


def test_a_stale_diary_of_an_older_version(tmp_path: Path) -> None:
    """An entry that does not say when it was written counts for nothing."""
    path = tmp_path / "x.creating.json"
    path.write_text(json.dumps({address(name): "adopted" for name in PLANES}))
    assert CreationRecord(path).fresh(deleting()) == frozenset()


@pytest.mark.parametrize(
    "age", [LIFETIME, -2 * LIFETIME, 30 * LIFETIME], ids=["old", "future", "month"]
)
def test_entries_of_the_diary_expire(tmp_path: Path, age: timedelta) -> None:
    """Even a VM that was never started is only ours for a day."""
    path, now = tmp_path / "x.creating.json", datetime.now(UTC)
    CreationRecord(path, lambda: now - age).write([address("cp-1")])
    assert CreationRecord(path, lambda: now).read() == {}
    assert CreationRecord(path, lambda: now - age).read() == {address("cp-1"): CREATING}


def test_an_unstarted_vm_is_fresh(tmp_path: Path) -> None:
    """One that a killed run made and never started is completed or replaced without a name."""
    diary = CreationRecord(tmp_path / "x.creating.json")
    diary.write([address("cp-1")], ADOPTED)
    before = node("cp-1", started=False)
    change = {"actions": ["delete", "create"], "before": before, "after": node("cp-1")}
    entry = {"address": address("cp-1"), "type": "proxmox_virtual_environment_vm", "change": change}
    plan = read_plan({"format_version": "1.2", "resource_changes": [entry]})
    assert diary.fresh(plan) == {address("cp-1")}

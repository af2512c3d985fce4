"""The plan judge: every class, and every known way to slip past it.

One case per file in cases/judge. `before` and `after` are laid over the VM below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talops.errors import ToolError
from talops.tofu.judge import Judged, judge
from talops.tofu.plan import VM, read_plan
from talops.tofu.policy import Policy, RefusedError, check, refusals

CASES = sorted((Path(__file__).parent / "cases" / "judge").glob("*.json"))
DISK = {
    "interface": "scsi0",
    "datastore_id": "local-lvm",
    "size": 40,
    "aio": "io_uring",
    "cache": "none",
    "ssd": True,
    "queues": 0,
    "discard": "on",
}
IDS = {"w-1": 101, "cp-1": 111, "cp-2": 112}


def vm(name: str) -> dict[str, Any]:
    role = "controlplane" if name.startswith("cp") else "worker"
    return {
        "name": name,
        "vm_id": IDS.get(name),
        "node_name": "pve1",
        "migrate": True,
        "started": True,
        "template": False,
        "tags": [role, "home"],
        "description": "a node",
        "machine": "q35",
        "cpu": [{"cores": 4, "type": "host"}],
        "memory": [{"dedicated": 8192}],
        "disk": [DISK],
        "network_device": [{"bridge": "vmbr0", "mac_address": "BC:24:11:00:00:01", "vlan_id": 20}],
        "startup": [{"order": 1}],
        "tpm_state": [],
        "hostpci": [],
    }


def entry(change: dict[str, Any]) -> dict[str, Any]:
    """A case's short form as `show -json` would spell it."""
    if "vm" in change:
        base = vm(change["vm"])
        address = f'module.node["{change["vm"]}"].{VM}.this'
        kind = VM
    else:
        base, address, kind = {}, change["address"], change["type"]
    sides = {
        side: None if change.get(side, {}) is None else {**base, **change.get(side, {})}
        for side in ("before", "after")
    }
    return {
        "address": address,
        "module_address": address.rsplit(f".{VM}", 1)[0] if "vm" in change else "",
        "mode": "managed",
        "type": kind,
        "index": address.split('["')[1].rstrip('"]') if address.endswith('"]') else None,
        "action_reason": change.get("reason", ""),
        "deposed": change.get("deposed", ""),
        "change": {
            "actions": change["actions"],
            **sides,
            "after_unknown": change.get("after_unknown", {}),
            "before_sensitive": change.get("before_sensitive", {}),
            "after_sensitive": change.get("after_sensitive", {}),
            "replace_paths": change.get("replace_paths", []),
        },
    }


def judged(case: dict[str, Any]) -> list[Judged]:
    entries = [entry(change) for change in case["changes"]]
    plan = read_plan({"format_version": "1.2", "resource_changes": entries})
    attached: dict[int, frozenset[str]] | None
    if case["attached"] == "same":  # Proxmox shows what the state remembers
        attached = {
            c.vm_id: frozenset(d["interface"] for d in c.before.get("disk") or [])
            for c in plan.changes
            if c.vm_id is not None
        }
    elif case["attached"] is None:
        attached = None
    else:
        attached = {int(k): frozenset(v) for k, v in case["attached"].items()}
    return judge(plan, attached)


def policy(case: dict[str, Any]) -> Policy:
    given = case["policy"]
    names = {k: frozenset(v) for k, v in given.items() if k != "everything"}
    return Policy(**names, everything=given.get("everything", False))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    """The plan is classed as the case says, for the reason it says, and refused if it says so."""
    case = json.loads(path.read_text(encoding="utf-8"))
    found = judged(case)
    assert {c.name: str(c.effect) for c in found} == {n: e for n, (e, _) in case["expect"].items()}
    for change in found:
        for attribute in filter(None, case["expect"][change.name][1].split(", ")):
            assert attribute in change.why, (attribute, change.why)
    refused = [r.judged.name for r in refusals(found, policy(case))]
    assert sorted(refused) == sorted(case["refused"])


def test_secret_is_not_shown() -> None:
    """A sensitive attribute appears with its name and without its values."""
    path = next(p for p in CASES if p.stem == "sensitive-value")
    (change,) = judged(json.loads(path.read_text(encoding="utf-8")))
    assert "hunter2" not in json.dumps(change.as_dict(), ensure_ascii=False)
    assert change.why == "kvm_arguments: (sensitive) → (sensitive)"


def test_harshest_first() -> None:
    """The table begins with what hurts most."""
    path = next(p for p in CASES if p.stem == "slip-control-plane-replaced-beside-restart")
    found = judged(json.loads(path.read_text(encoding="utf-8")))
    assert [str(c.effect) for c in found] == ["replaces", "restarts"]


def test_refusal_names_all_and_the_way_out() -> None:
    """One error tells every refusal and the flags that would allow it."""
    changes = [{"vm": "w-1", "actions": ["delete"], "after": None}]
    found = judged({"changes": changes, "attached": "same"})
    with pytest.raises(RefusedError) as caught:
        check("02-platforms/home", found, Policy())
    assert "nothing was changed" in caught.value.what
    assert "destroys it (asked for)" in caught.value.what
    assert caught.value.hint == "to allow this: --allow-destroy w-1"


@pytest.mark.parametrize(
    ("reason", "hint"),
    [("", "drain w-1"), ("replace_because_tainted", "detach scsi1 of w-1 in Proxmox")],
)
def test_a_foreign_disk_is_freed_where_that_is_possible(reason: str, hint: str) -> None:
    """A VM whose creation broke off is in no cluster: there is nothing to drain."""
    change = {"vm": "w-1", "actions": ["delete", "create"], "reason": reason}
    found = judged({"changes": [change], "attached": {"101": ["scsi0", "scsi1"]}})
    with pytest.raises(RefusedError, match="would detach scsi1") as caught:
        check("02-platforms/home", found, Policy())
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("document", [{}, {"format_version": "2.0"}])
def test_unknown_format_is_refused(document: dict[str, Any]) -> None:
    """A plan in a format that talops does not know is not read as an empty one."""
    with pytest.raises(ToolError, match="cannot read a plan of format"):
        read_plan(document)


def test_outputs_alone_are_a_difference() -> None:
    """A plan that only changes an output is not empty."""
    document = {"format_version": "1.2", "output_changes": {"a": {"actions": ["update"]}}}
    assert not read_plan(document).empty

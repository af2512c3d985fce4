"""What `up` will do is known before it asks, and nothing is changed to find out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


def rendered(root: Path) -> dict[str, bytes]:
    """Files of OpenTofu and its states."""
    every = [p for p in (root / "infrastructure").rglob("*") if p.is_file()]
    return {str(p): p.read_bytes() for p in every if ".terraform" not in p.parts}


def planned(out: str) -> dict[str, list[dict[str, Any]]]:
    """Stage → its planned changes, from events."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in out.splitlines():
        event = json.loads(line)
        if event["kind"] == "planned_change":
            found.setdefault(event["stage"], []).append(event)
    return found


async def test_the_plan_is_known_before_the_question(make_lab: MakeLab) -> None:
    """VMs by name and with the reason, although the OpenTofu files are not written yet."""
    async with make_lab(control_planes=1, workers=1, sealed=True) as lab:
        made = await lab.talops("up", "--yes")
        assert made.code == 0, made.everything
        await _restart_of_one_vm(lab)
        await _edited_by_hand(lab)
        await _changed_in_proxmox(lab)
        await _refused_before_the_question(lab)
        await _held_back(lab)


async def _restart_of_one_vm(lab: Any) -> None:
    nodes = lab.root / "nodes.yaml"
    text = nodes.read_text(encoding="utf-8")
    nodes.write_text(text.rstrip("\n") + "\n    vm_memory: 6144\n", encoding="utf-8")
    before = rendered(lab.root)
    found = await lab.talops("up", "--dry-run", "-o", "json")
    assert found.code == 2, found.everything
    (change,) = planned(found.out)["provision"]
    (item,) = change["items"]
    assert (item["name"], item["impact"], item["disruptive"]) == ("e2e-w-1", "restarts", True)
    assert (item["drains"], item["etcd_members"]) == (True, [])
    assert "dedicated: 4096 → 6144" in item["why"]
    assert rendered(lab.root) == before
    assert list(lab.temporary.glob("talops-plan-*")) == []
    nodes.write_text(text, encoding="utf-8")


async def _edited_by_hand(lab: Any) -> None:
    """The files are a difference; the cluster, which runs, is not."""
    (main,) = (lab.root / "infrastructure/02-platforms").glob("*/main.tf")
    text = main.read_text(encoding="utf-8")
    main.write_text(text + "# edited\n", encoding="utf-8")
    drift = await lab.talops("drift", "--layer", "files", "--layer", "proxmox", "-o", "json")
    assert drift.code == 2, drift.everything
    layers = {each["layer"]: each for each in json.loads(drift.out)["layers"]}
    assert [d["target"] for d in layers["files"]["differences"]] == [
        str(main.relative_to(lab.root))
    ]
    assert layers["proxmox"]["differences"] == layers["proxmox"]["unread"] == []
    main.write_text(text, encoding="utf-8")


async def _changed_in_proxmox(lab: Any) -> None:
    """What the state lists is ours: no hint asks for another MAC or VMID."""
    vm = lab.vms()["e2e-w-1"]
    await lab.proxmox("PUT", f"nodes/pve/qemu/{vm.vmid}/config", name="renamed", tags="mine")
    found = await lab.talops("up", "--dry-run", "-o", "json")
    assert found.code == 2, found.everything
    assert "change mac_addr" not in found.everything
    assert "another vm_id" not in found.everything
    (change,) = planned(found.out)["provision"]
    assert [item["impact"] for item in change["items"]] == ["changes"]
    healed = await lab.talops("up", "--yes")
    assert healed.code == 0, healed.everything
    assert "e2e-w-1" in lab.vms()


async def _refused_before_the_question(lab: Any) -> None:
    """A removal without --allow-destroy changes nothing, not even the generated files."""
    nodes = lab.root / "nodes.yaml"
    text = nodes.read_text(encoding="utf-8")
    kept = text[: text.index("  - name: e2e-w-1")]
    nodes.write_text(kept, encoding="utf-8")
    before = rendered(lab.root)
    refused = await lab.talops("up", "--yes")
    assert refused.code == 1, refused.everything
    assert "--allow-destroy e2e-w-1" in refused.err
    assert rendered(lab.root) == before
    nodes.write_text(text, encoding="utf-8")


async def _held_back(lab: Any) -> None:
    """A pause and a closed window refuse a restart, and nothing is changed by the refusal."""
    calm = await lab.talops("plan")
    assert calm.code == 0, calm.everything
    assert "No differences" in calm.out
    nodes, cluster = lab.root / "nodes.yaml", lab.root / "cluster.yaml"
    text, settings = nodes.read_text(encoding="utf-8"), cluster.read_text(encoding="utf-8")
    nodes.write_text(text.rstrip("\n") + "\n    vm_memory: 6144\n", encoding="utf-8")
    day = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[(datetime.now(UTC).weekday() + 3) % 7]
    window = f'{{days: [{day}], start: "02:00", end: "03:00"}}'
    cluster.write_text(f"{settings}\nmaintenance: {{windows: [{window}]}}\n", encoding="utf-8")
    before = rendered(lab.root)
    found = await lab.talops("plan", "-o", "json")
    assert found.code == 2, found.everything
    data = json.loads(found.out)
    assert data["disrupted"] == ["e2e-w-1"]
    assert [(c["name"], c["holds"]) for c in data["conditions"]] == [("Maintenance window", True)]
    closed = await lab.talops("up", "--yes")
    assert closed.code == 1, closed.everything
    assert "no maintenance window is open" in closed.err
    paused = await lab.talops("pause", "--reason", "audit")
    assert paused.code == 0, paused.everything
    refused = await lab.talops("up", "--yes", "--now")
    assert refused.code == 1, refused.everything
    assert "audit" in refused.err
    assert "next: talops resume" in refused.err
    assert rendered(lab.root) == before
    assert (await lab.talops("resume")).code == 0
    nodes.write_text(text, encoding="utf-8")
    cluster.write_text(settings, encoding="utf-8")

"""Plans that look harmless and are not, and permissions that should not last."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.test_apply import CONDUCT, applier, cluster, run
from tests.tofu.test_judge import judged, vm
from tests.tofu.world import World, address, node

from talops.approval import beyond
from talops.errors import NotApprovedError
from talops.tofu.approval import items
from talops.tofu.creation_record import ADOPTED, CREATING, LIFETIME, CreationRecord
from talops.tofu.events import BatchStarted
from talops.tofu.judge import judge
from talops.tofu.ordering import restart_batches
from talops.tofu.plan import read_plan
from talops.tofu.policy import Policy, RefusedError, refusals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.tofu.judge import Judged
    from talops.tofu.plan import Change

PLANES = ("cp-1", "cp-2", "cp-3")
NIC = {"bridge": "vmbr0", "mac_address": "BC:24:11:00:00:01", "vlan_id": 20}


def nics(*after: dict[str, Any]) -> list[Judged]:
    """The same change of the network cards of three control planes."""
    changes = [
        {"vm": name, "actions": ["update"], "after": {"network_device": [*after]}}
        for name in PLANES
    ]
    return judged({"changes": changes, "attached": "same"})


@pytest.mark.parametrize(
    "after",
    [{**NIC, "bridge": "vmbr9"}, {**NIC, "vlan_id": 30}, {**NIC, "firewall": True}],
    ids=["bridge", "vlan", "firewall"],
)
def test_network_cards_of_all_control_planes_change_at_once(after: dict[str, Any]) -> None:
    """Each may end the connections of its node: one control plane at a time."""
    found = nics(after)
    assert {str(change.effect) for change in found} == {"restarts"}
    assert [batch.names for batch in restart_batches(found, 0)] == [(name,) for name in PLANES]
    assert refusals(found, Policy()) == []


@pytest.mark.parametrize(
    "after",
    [
        [{**NIC, "mac_address": "BC:24:11:00:00:99"}],
        [],
        [{**NIC, "enabled": False}],
        [{**NIC, "disconnected": True}],
        [{**NIC, "mac_address": "BC:24:11:00:00:99"}, NIC],
    ],
    ids=["other MAC", "no card", "disabled", "unplugged", "another card in front"],
)
def test_control_planes_lose_their_link(after: list[dict[str, Any]]) -> None:
    """Talos finds its link by the MAC: a node is never disconnected without its name."""
    found = nics(*after)
    assert {str(change.effect) for change in found} == {"disconnects"}
    assert {r.judged.name for r in refusals(found, Policy())} == {*PLANES}
    (left,) = refusals(found, Policy(allow_disconnect=frozenset({"cp-1", "cp-2"})))
    assert left.hint == "to allow this: --allow-disconnect cp-3"
    assert [batch.names for batch in restart_batches(found, 0)] == [(name,) for name in PLANES]


BRIDGE = {
    "name": "vmbr0",
    "node_name": "pve",
    "address": "10.0.0.2/24",
    "gateway": "10.0.0.1",
    "ports": ["eno1"],
    "vlan_aware": True,
    "autostart": True,
    "comment": "",
}


def bridge(kind: str, **after: Any) -> list[Judged]:
    change = {"actions": ["update"], "before": BRIDGE, "after": {**BRIDGE, **after}}
    where = f'{kind}.this["pve/vmbr0"]'
    entry = {"address": where, "mode": "managed", "type": kind, "change": change}
    return judge(read_plan({"format_version": "1.2", "resource_changes": [entry]}), {})


@pytest.mark.parametrize(
    "kind", ["proxmox_network_linux_bridge", "proxmox_virtual_environment_network_linux_bridge"]
)
@pytest.mark.parametrize(
    "after",
    [
        {"address": None},
        {"ports": []},
        {"ports": ["eno2"]},
        {"gateway": None},
        {"vlan_aware": False},
        {"autostart": False},
    ],
    ids=lambda after: next(iter(after)),
)
def test_a_bridge_of_the_host_loses_its_connection(kind: str, after: dict[str, Any]) -> None:
    """The host and all its VMs would be disconnected."""
    (change,) = found = bridge(kind, **after)
    assert str(change.effect) == "disconnects"
    assert [r.hint for r in refusals(found, Policy())] == [
        "to allow this: --allow-disconnect vmbr0"
    ]
    assert refusals(found, Policy(allow_disconnect=frozenset({"vmbr0"}))) == []


def test_a_bridge_gets_more() -> None:
    """A comment, or a second port, disconnects nothing."""
    (change,) = bridge("proxmox_network_linux_bridge", comment="uplink", ports=["eno1", "eno2"])
    assert str(change.effect) == "online"


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


async def test_a_foreign_disk_appears_before_a_retry(tmp_path: Path) -> None:
    """The second plan is judged whole: the same class of effect, but a disk of another VM."""
    two = [{"interface": "scsi0", "size": 40}, {"interface": "scsi1", "size": 40}]
    world = World(
        wanted={"w-1": node("w-1")},
        actual={"w-1": node("w-1", disk=two)},
        faults={"w-1": ["got timeout"]},
    )
    attached = {"scsi0", "scsi1"}

    async def read_disks(changes: Sequence[Change]) -> dict[int, frozenset[str]]:
        found = {c.vm_id: frozenset(attached) for c in changes if c.vm_id is not None}
        attached.add("scsi5")  # a CSI driver attaches a volume after the plan was judged
        return found

    allowed = replace(CONDUCT.policy, allow_destroy=frozenset({"w-1"}))
    with pytest.raises(RefusedError, match="scsi5, which talops did not create"):
        await run(world, tmp_path, replace(CONDUCT, policy=allowed, read_disks=read_disks))
    assert world.actual["w-1"]["disk"] == two


async def test_another_disk_goes_in_the_second_plan(tmp_path: Path) -> None:
    """The same VM and the same class, but not the disk that was approved."""
    disks = [{"interface": slot, "size": 40} for slot in ("scsi0", "scsi1", "scsi2")]
    world = World(
        wanted={"w-1": node("w-1", disk=[disks[0], disks[2]])},
        actual={"w-1": node("w-1", disk=disks)},
        faults={"w-1": ["got timeout"]},
    )
    plan, asked = world.plan, 0

    async def replanned(*given: Any, **more: Any) -> bool:
        nonlocal asked
        asked += 1
        if asked > 1:
            world.wanted["w-1"] = node("w-1", disk=disks[:2])
        return await plan(*given, **more)

    async def read_disks(changes: Sequence[Change]) -> dict[int, frozenset[str]]:
        slots = frozenset({"scsi0", "scsi1", "scsi2"})
        return {c.vm_id: slots for c in changes if c.vm_id is not None}

    world.plan = replanned  # type: ignore[method-assign]
    allowed = replace(CONDUCT.policy, allow_destroy=frozenset({"w-1"}))
    with pytest.raises(NotApprovedError, match="the infrastructure changed since the plan: w-1"):
        await run(world, tmp_path, replace(CONDUCT, policy=allowed, read_disks=read_disks))
    assert world.actual["w-1"]["disk"] == disks


async def test_the_plan_that_was_shown_is_the_limit(tmp_path: Path) -> None:
    """Between confirmation and apply, a user deleted a VM and stopped another."""
    world = World(wanted=cluster(cpu=[{"cores": 8}]), actual=cluster())
    saved = tmp_path / "x.tfplan"
    await world.plan(saved)
    _, shown = await applier(world, tmp_path).judged(saved)
    del world.actual["w-1"]
    await world.plan(saved)
    with pytest.raises(NotApprovedError, match=r"w-1 would now change \(creates, not restarts"):
        await applier(world, tmp_path).apply(saved, items(shown))
    assert world.applied == []
    assert not any(isinstance(event, BatchStarted) for event in world.events)


def test_less_than_approved() -> None:
    """A later plan may do less to the same resources; that is how an interrupted run goes on."""
    changes = [{"vm": "w-1", "actions": ["delete", "create"]}]
    (replaces,) = judged({"changes": changes, "attached": "same"})
    new = {"vm": "w-1", "actions": ["create"], "before": None}
    (creates,) = judged({"changes": [new], "attached": {}})
    assert beyond(items([creates]), items([replaces])) == []
    (more,) = beyond(items([replaces]), items([creates]))
    assert "not creates" in str(more)


@pytest.mark.parametrize("actions", [["delete"], ["delete", "create"], ["forget"]], ids="-".join)
@pytest.mark.parametrize("everything", [False, True], ids=["named", "down"])
def test_a_protected_node(actions: list[str], everything: bool) -> None:
    """No option opens it, not even a destruction of everything."""
    case = {"changes": [{"vm": "w-1", "actions": actions}], "attached": "same"}
    name = frozenset({"w-1"})
    policy = Policy(name, name, name, protected=name, everything=everything)
    (refusal,) = refusals(judged(case), policy)
    assert refusal.hint == "to allow this: remove `protected: true` of w-1 from nodes.yaml"


def test_a_protected_node_restarts() -> None:
    """Protection is about what cannot be undone."""
    change = {"vm": "w-1", "actions": ["update"], "after": {"cpu": [{"cores": 8, "type": "host"}]}}
    found = judged({"changes": [change], "attached": "same"})
    assert refusals(found, Policy(protected=frozenset({"w-1"}))) == []
    assert vm("w-1")["cpu"] != change["after"]


def test_what_the_provider_computes_is_not_lost() -> None:
    """bpg/proxmox plans the port and tag of a VLAN again with every change of its comment."""
    kind, before = "proxmox_network_linux_vlan", {"interface": "vmbr1", "vlan": 20, "comment": "a"}
    change = {
        "actions": ["update"],
        "before": before,
        "after": {"comment": "b"},
        "after_unknown": {"interface": True, "vlan": True},
    }
    entry = {"address": f"{kind}.this", "mode": "managed", "type": kind, "change": change}
    (judged,) = judge(read_plan({"format_version": "1.2", "resource_changes": [entry]}), {})
    assert str(judged.effect) == "online"


def test_a_mac_in_another_case_is_the_same_mac() -> None:
    """The card is plugged again, in order, but the node keeps its link."""
    found = nics({**NIC, "mac_address": str(NIC["mac_address"]).lower()})
    assert {str(change.effect) for change in found} == {"restarts"}

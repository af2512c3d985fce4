"""From a saved plan to a world that matches it, whatever happens in between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.tofu.world import World, address, node

from talops.errors import DifferencesFoundError, NotApprovedError, TalopsError
from talops.tofu.apply import Applier
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.creation_record import CreationRecord
from talops.tofu.errors import TofuError
from talops.tofu.events import BatchStarted, PlanJudged, ResourceChange, Retrying
from talops.tofu.policy import Policy, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.approval import Item
    from talops.events import Event
    from talops.tofu.engine import Engine
    from talops.tofu.ordering import Batch
    from talops.tofu.plan import Change

NODES = ["cp-1", "cp-2", "cp-3", "w-1", "w-2", "w-3"]


async def read_disks(changes: Sequence[Change]) -> dict[int, frozenset[str]]:
    return {c.vm_id: frozenset({"scsi0"}) for c in changes if c.vm_id is not None}


CONDUCT = ApplyOptions(read_disks=read_disks, pauses=(0, 0, 0))


def applier(world: World, tmp_path: Path, conduct: ApplyOptions = CONDUCT) -> Applier:
    return Applier(cast("Engine", world), conduct, CreationRecord(tmp_path / "creating.json"))


async def run(world: World, tmp_path: Path, conduct: ApplyOptions = CONDUCT) -> None:
    saved = tmp_path / "x.tfplan"
    await world.plan(saved)
    await applier(world, tmp_path, conduct).apply(saved)


def cluster(**more: Any) -> dict[str, dict[str, Any]]:
    return {name: node(name, **more) for name in NODES}


def bigger() -> World:
    """Every node runs and shall get more cores."""
    return World(wanted=cluster(cpu=[{"cores": 8}]), actual=cluster())


async def test_create(tmp_path: Path) -> None:
    """New VMs are created in one step, throttled, and the diary is closed."""
    world = World(wanted=cluster())
    await run(world, tmp_path)
    assert world.actual == world.wanted
    assert world.applied == [4]
    assert not (tmp_path / "creating.json").exists()


async def test_restarts_one_control_plane_at_a_time(tmp_path: Path) -> None:
    """No two control planes restart together, and each is healthy before the next one goes."""
    world = bigger()
    waited: list[tuple[str, ...]] = []

    async def healthy(batch: Batch) -> None:
        assert world.restarted[-1] == set(batch.names)
        waited.append(batch.names)

    await run(world, tmp_path, replace(CONDUCT, healthy=healthy))
    assert world.restarted == [{"cp-1"}, {"cp-2"}, {"cp-3"}, {"w-1"}, {"w-2"}, {"w-3"}]
    assert len(waited) == len(world.restarted)
    assert world.actual == world.wanted
    batches = [e for e in world.events if isinstance(e, BatchStarted)]
    assert [(e.number, e.total) for e in batches] == [(n, 6) for n in range(1, 7)]


async def test_unhealthy_stops_there(tmp_path: Path) -> None:
    """A control plane that does not come back keeps the others as they are."""
    world = bigger()

    async def healthy(batch: Batch) -> None:
        raise TalopsError("etcd has no leader", where=batch.names[0])

    with pytest.raises(TalopsError, match="no leader"):
        await run(world, tmp_path, replace(CONDUCT, healthy=healthy))
    assert world.restarted == [{"cp-1"}]
    await run(world, tmp_path)
    assert world.actual == world.wanted


async def test_refused_before_anything_is_touched(tmp_path: Path) -> None:
    """One forbidden change keeps the whole plan from being applied."""
    world = World(wanted={**cluster(), "w-9": node("w-9")}, actual=cluster())
    del world.wanted["w-1"]
    before = dict(world.actual)
    with pytest.raises(RefusedError, match="w-1"):
        await run(world, tmp_path)
    assert world.actual == before
    await run(world, tmp_path, replace(CONDUCT, policy=Policy(allow_destroy=frozenset({"w-1"}))))
    assert "w-1" not in world.actual
    assert "w-9" in world.actual


async def test_held_back_before_anything_is_touched(tmp_path: Path) -> None:
    """Who may say that this is not the time is asked with every change, before the first one."""
    world = bigger()
    asked: list[Item] = []

    async def never(items: Sequence[Item]) -> None:
        asked.extend(items)
        raise TalopsError("not now")

    with pytest.raises(TalopsError, match="not now"):
        await run(world, tmp_path, replace(CONDUCT, permit=never))
    assert {item.node for item in asked} == set(NODES)
    assert world.restarted == []


async def test_foreign_disk_is_seen(tmp_path: Path) -> None:
    """The real disks are looked at before a disk block changes."""
    world = World(
        wanted={"w-1": node("w-1", disk=[{"interface": "scsi0", "size": 80}])},
        actual={"w-1": node("w-1")},
    )

    async def with_csi(changes: Sequence[Change]) -> dict[int, frozenset[str]]:
        return {c.vm_id: frozenset({"scsi0", "scsi3"}) for c in changes if c.vm_id is not None}

    with pytest.raises(RefusedError, match="scsi3, which talops did not create"):
        await run(world, tmp_path, replace(CONDUCT, read_disks=with_csi))


async def test_passing_failure_is_retried(tmp_path: Path) -> None:
    """A lock that was busy is tried again; the half-created VM is replaced without a question."""
    world = World(wanted=cluster(), faults={"w-2": ["VM is locked (clone)", "got timeout"]})
    await run(world, tmp_path)
    assert world.actual == world.wanted
    assert sum(isinstance(e, Retrying) for e in world.events) == 2


@pytest.mark.parametrize("retried", [True, False])
async def test_whole_download_is_kept(tmp_path: Path, retried: bool) -> None:
    """A file that could not be read back is not replaced: it would delete itself in the end."""
    file = {"image": node("image", cpu=[])}
    world = World(wanted={**cluster(), **file}, files={"image"})
    replaced: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, ResourceChange) and event.action == "delete":
            replaced.append(event.address)

    world.watch(note)
    if retried:
        world.faults = {"w-2": ["VM is locked"], "image": ["connection reset"]}
    else:
        world.actual, world.tainted = dict(file), {"image"}
    await run(world, tmp_path)
    assert world.tainted == set()
    assert replaced == [address("w-2")] * retried


async def test_final_failure_is_not_retried(tmp_path: Path) -> None:
    """A refusal by Proxmox fails at once, and the next run converges."""
    world = World(wanted=cluster(), faults={"w-2": ["Permission check failed"]})
    with pytest.raises(TofuError, match="Permission check failed"):
        await run(world, tmp_path)
    assert len(world.applied) == 1
    assert (tmp_path / "creating.json").stat().st_mode & 0o777 == 0o600
    await run(world, tmp_path)
    assert world.actual == world.wanted


async def test_retries_end(tmp_path: Path) -> None:
    """A failure that never passes is reported after a few attempts."""
    world = World(wanted=cluster(), faults={"w-2": ["got timeout"] * 99})
    with pytest.raises(TofuError, match="got timeout"):
        await run(world, tmp_path)
    assert len(world.applied) == 1 + len(CONDUCT.pauses)


async def test_lost_vm_is_adopted(tmp_path: Path) -> None:
    """A VM that a killed run made and could not note down is taken over and finished."""
    world = World(wanted=cluster(), faults={"cp-1": ["Permission check failed"]})
    with pytest.raises(TofuError):
        await run(world, tmp_path)
    world.tainted.clear()
    world.lost = {"cp-1": world.actual.pop("cp-1")}

    async def find_lost(changes: Sequence[Change]) -> dict[str, str]:
        return {c.address: f"pve/{c.vm_id}" for c in changes if c.name in world.lost}

    await run(world, tmp_path, replace(CONDUCT, find_lost=find_lost))
    assert world.imported == [f"pve/{node('cp-1')['vm_id']}"]
    assert world.actual == world.wanted
    assert not (tmp_path / "creating.json").exists()


async def test_stranger_with_our_name_is_not_adopted(tmp_path: Path) -> None:
    """Only what talops was creating is looked for; anything else of that name is not ours."""
    world = World(wanted=cluster(), lost={"cp-1": node("cp-1")})

    async def find_lost(changes: Sequence[Change]) -> dict[str, str]:
        raise AssertionError(changes)

    await run(world, tmp_path, replace(CONDUCT, find_lost=find_lost))
    assert world.imported == []


async def test_finished_vm_is_no_longer_fresh(tmp_path: Path) -> None:
    """A VM that came to life in a run that failed elsewhere is protected like any other."""
    world = World(wanted=cluster(), faults={"w-3": ["Permission check failed"]})
    with pytest.raises(TofuError):
        await run(world, tmp_path)
    assert list(CreationRecord(tmp_path / "creating.json").read()) == [address("w-3")]
    world.tainted = {"cp-1", "w-3"}
    with pytest.raises(RefusedError, match="cp-1") as caught:
        await run(world, tmp_path)
    assert "w-3" not in caught.value.what


async def test_stranger_tainted_needs_its_name(tmp_path: Path) -> None:
    """A tainted VM that talops was not creating is not replaced without a question."""
    world = World(wanted=cluster(), actual=cluster(), tainted={"cp-1"})
    with pytest.raises(RefusedError, match="its creation did not finish"):
        await run(world, tmp_path)


async def test_world_that_changes_meanwhile(tmp_path: Path) -> None:
    """What appears between two steps and was not in the saved plan is not applied."""
    world = bigger()

    async def healthy(batch: Batch) -> None:
        if batch.names == ("cp-1",):  # a user edits the inventory
            world.wanted["w-9"] = node("w-9")

    with pytest.raises(NotApprovedError, match="the infrastructure changed since the plan: w-9"):
        await run(world, tmp_path, replace(CONDUCT, healthy=healthy))
    assert "w-9" not in world.actual
    assert not (tmp_path / "x.part.tfplan").exists()


async def test_no_drift_gate(tmp_path: Path) -> None:
    """A second plan that is not empty is a difference, with its cause."""
    world = World(wanted={"w-1": node("w-1")}, actual={"w-1": node("w-1")})
    gate = tmp_path / "gate.tfplan"
    await applier(world, tmp_path).no_drift(gate)
    world.actual["w-1"] = node("w-1", description="by hand")
    with pytest.raises(DifferencesFoundError, match="description: by hand → nothing") as caught:
        await applier(world, tmp_path).no_drift(gate)
    assert caught.value.exit_code == 2
    assert not gate.exists()


async def test_verdict_is_announced(tmp_path: Path) -> None:
    """The view gets the table before anything happens."""
    world = bigger()
    await run(world, tmp_path)
    first = next(e for e in world.events if isinstance(e, PlanJudged))
    assert [row["effect"] for row in first.changes] == ["restarts"] * 6
    assert first.changes[0]["address"] == address("cp-1")


async def test_retry_of_a_destruction_takes_away(tmp_path: Path) -> None:
    """A second plan must not bring back what the first half removed."""
    world = World(wanted=cluster(), actual=cluster(), faults={"w-3": ["got timeout"]})
    conduct = replace(CONDUCT, policy=Policy(everything=True), destroy=True)
    saved = tmp_path / "x.tfplan"
    await world.plan(saved, destroy=True)
    await applier(world, tmp_path, conduct).apply(saved)
    assert world.actual == {}
    assert [e.attempt for e in world.events if isinstance(e, Retrying)] == [1]


async def test_retry_stays_with_its_targets(tmp_path: Path) -> None:
    """One VM was to go: the second try is about that one, too."""
    world = World(wanted=cluster(), actual=cluster(), faults={"w-3": ["got timeout"]})
    policy = Policy(allow_destroy=frozenset({"w-3"}))
    conduct = replace(CONDUCT, policy=policy, destroy=True, targets=(address("w-3"),))
    saved = tmp_path / "x.tfplan"
    await world.plan(saved, destroy=True, targets=[address("w-3")])
    await applier(world, tmp_path, conduct).apply(saved)
    assert set(world.actual) == {*NODES} - {"w-3"}

"""Each plan after a retry is judged whole, and does no more than was approved (row 19)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.test_apply import CONDUCT, applier, cluster, run
from tests.tofu.test_judge import judged
from tests.tofu.world import World, node

from talops.approval import beyond
from talops.errors import NotApprovedError
from talops.tofu.approval import items
from talops.tofu.events import BatchStarted
from talops.tofu.policy import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.tofu.plan import Change


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

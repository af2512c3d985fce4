"""Who has to leave, in which order, and when nothing may leave: facts in, changes out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from talops.approval import Impact
from talops.errors import ConflictError
from talops.render.layers import platform
from talops.rolls.machines import judge_nodes
from talops.rolls.options import RollOptions
from talops.rolls.order import Width
from talops.rolls.removal.removable import Removable
from talops.rolls.rolling import Rolling
from talops.rolls.standing import CONTROL_PLANE, Known, Standing, controls
from talops.site.site import Site
from talops.stages.membership import leave, remove
from talops.stages.membership.nodes import Facts as Seen
from talops.stages.membership.nodes import Nodes
from talops.stages.provision import Provision
from talops.talos.membership import Etcd
from talops.tofu.judge import Cause, Judged
from talops.tofu.plan import VM, Plan
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

PLANE = Known("cp-9", controller=True, address="10.0.0.9", uid="1")
WORKERS = tuple(
    Known(f"w-{n}", controller=False, address=f"10.0.1.{n}", uid="2") for n in (7, 8, 9)
)
NOTHING: Any = None


@pytest.fixture
def site(example: Example, tmp_path: Path) -> Site:
    cluster = replace(example("ha"), proxmox=None)
    return Site(cluster, tmp_path, {}, {}, NOTHING, tmp_path, tmp_path)


def removing(site: Site, *names: str, asks: bool = False) -> remove.Remove:
    rolling = Rolling(site, RollOptions(max_unavailable=Width(2)))
    return remove.Remove(site, NOTHING, rolling, Removable(frozenset(names), asks))


def test_control_planes_leave_one_by_one_before_workers(site: Site) -> None:
    """Workers as many at a time as a roll allows."""
    stage = removing(site, asks=True)
    changes = stage.plan(remove.Facts((PLANE, *WORKERS)))
    assert str(changes[0]) == "remove cp-9 (drain, leave etcd, wipe)"
    assert {change.impact for change in changes} == {Impact.DESTROYS}
    found = stage.batches(changes, 10)
    assert [([c.target for c in b.changes], b.width) for b in found] == [
        (["cp-9"], 1),
        (["w-7", "w-8", "w-9"], 2),
    ]
    assert stage.batches([], 10) == []


@pytest.mark.parametrize(
    ("names", "asks", "hint"),
    [
        (("w-7", "w-8", "w-9"), False, None),
        ((), True, None),
        (("w-7",), False, "to remove: --allow-destroy w-8 --allow-destroy w-9"),
    ],
    ids=["named", "asked", "two are not named"],
)
def test_who_allows_a_removal(
    site: Site, names: tuple[str, ...], asks: bool, hint: str | None
) -> None:
    """An option for each node, or the user who sees the plan."""
    changes = removing(site, *names, asks=asks).plan(remove.Facts(WORKERS))
    refused = changes[0].refusal()
    assert (refused.hint if refused else None) == hint


def leaving(site: Site, *, protected: bool = False) -> leave.Leave:
    node = replace(site.cluster.nodes[0], protected=protected)
    return leave.Leave(site, node, NOTHING, Rolling(site))


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (leave.Facts(PLANE), ["drain, leave etcd, wipe, then join again"]),
        (
            leave.Facts(WORKERS[0], has_vm=True),
            ["drain, wipe, destroy VM and disks, then join again"],
        ),
        (leave.Facts(PLANE, begun="1"), ["drain, leave etcd, wipe, then join again"]),
        (leave.Facts(PLANE, begun="0"), []),
        (leave.Facts(None, begun="1", has_vm=True), []),
        (leave.Facts(None, has_vm=True), ["destroy its VM; the cluster does not have it"]),
        (leave.Facts(None), []),
    ],
    ids=["new", "a worker", "interrupted", "joined again", "has left", "never joined", "nothing"],
)  # fmt: skip
def test_a_replacement_takes_place_once(site: Site, facts: leave.Facts, wanted: list[str]) -> None:
    """What an interrupted run has done is not done again."""
    assert [change.detail for change in leaving(site).plan(facts)] == wanted


def test_what_is_not_replaced(site: Site) -> None:
    """A protected node, and one that etcd needs."""
    with pytest.raises(ConflictError, match="protected in the inventory"):
        leaving(site, protected=True).plan(leave.Facts(PLANE))
    facts = leave.Facts(PLANE, objection="cp-9 is the only etcd member")
    with pytest.raises(
        ConflictError, match=r"refused to replace .* the only etcd member"
    ) as refused:
        leaving(site).plan(facts)
    assert refused.value.hint
    assert "talops recover" in refused.value.hint


def judged(effect: Effect, **more: Any) -> Judged:
    cause = Cause("disk.scsi0.size", effect, 40, 20)
    return Judged("vm.w-1", "w-1", VM, "worker", effect, (cause,), node="w-1", **more)


@pytest.mark.parametrize(
    ("change", "held", "refused"),
    [
        (judged(Effect.RESTARTS), False, False),
        (judged(Effect.DESTROYS), True, False),
        (judged(Effect.REPLACES), False, True),
        (judged(Effect.REMOVES_DISK), False, True),
        (judged(Effect.DISCONNECTS), False, True),
        (judged(Effect.REMOVES_DISK, foreign=("scsi1",)), False, False),
        (judged(Effect.REPLACES, tainted=True), False, False),
    ],
    ids=["restart", "gone", "replace", "disk", "MAC", "disk of another", "unfinished"],
)
async def test_what_a_plan_may_do_to_a_node_in_service(
    change: Judged, held: bool, refused: bool
) -> None:
    """Its VM is destroyed by `remove`, and replaced by `talops replace` only."""

    async def serving() -> frozenset[str]:
        return frozenset({"w-1"})

    async def nothing() -> frozenset[str]:
        return frozenset()

    plan = Plan((), outputs_change=False, errored=False)
    found = await judge_nodes(plan, [change], serving)
    assert found.held == (frozenset({"w-1"}) if held else frozenset())
    assert bool(found.refused) is refused
    assert found.broken == (frozenset({"w-1"}) if refused else frozenset())
    if found.refused:
        assert found.refused.hint == "one after the other: talops replace w-1"
    other = await judge_nodes(plan, [change], nothing)
    assert not other.held
    assert other.refused is None


@pytest.mark.parametrize(
    ("name", "labelled", "member", "expected"),
    [
        ("ha-cp-1", True, True, True),
        ("ha-cp-1", False, True, True),
        ("ha-cp-1", False, False, False),
        ("ha-w-1", True, False, False),
        ("ha-w-1", True, True, True),
        ("other", True, False, True),
        ("other", False, False, False),
    ],
    ids=[
        *("usual", "label lost", "is a worker", "label of a worker", "is a control plane"),
        *("other control plane", "other worker"),
    ],
)
def test_the_role_of_a_running_node(
    example: Example, name: str, labelled: bool, member: bool, expected: bool
) -> None:
    """A label that someone changed does not make talops replace a node."""
    labels = {CONTROL_PLANE: ""} if labelled else {}
    node = {"metadata": {"name": name, "labels": labels}}
    etcd = Etcd({name: 1} if member else {"x": 1}, frozenset(), {})
    assert controls(example("ha"), node, etcd) is expected


def test_a_member_without_a_machine_is_removed_first(site: Site) -> None:
    """Every other change needs a healthy etcd; a member that still answers leaves later."""
    planes = {node.name: number for number, node in enumerate(site.cluster.control_planes)}
    nodes = {
        name: Known(name, controller=True, address=str(node.address), uid="1")
        for name, node in zip(planes, site.cluster.control_planes, strict=True)
    }
    members, healthy = {**planes, "cp-9": 9}, frozenset(planes)
    stage = Nodes(site, NOTHING, Rolling(site), Removable(asks=True))
    gone = Etcd(members, healthy, {"cp-9": "no route to host"})
    there = Etcd(members, healthy | {"cp-9"}, {})
    found = {
        etcd: stage.plan(Seen(Standing({**nodes, "cp-9": PLANE}, etcd_of), (PLANE,)))
        for etcd, etcd_of in (("gone", gone), ("there", there))
    }
    assert [str(change) for change in found["gone"]] == [
        "remove etcd member cp-9 (it does not answer, and nodes.yaml does not have it)"
    ]
    assert found["there"] == []


class Planning(Provision):
    """A stage that has a plan of OpenTofu already."""

    def __init__(self, site: Site, changes: list[Judged], leaving: str) -> None:
        super().__init__(site, site.secrets, NOTHING, leaving=[leaving])
        self.changes = changes
        self.checked: list[str] = []

    async def _engine(self, _: Any) -> Any:
        async def plan(*_: Any, **__: Any) -> bool:
            return True

        return SimpleNamespace(plan=plan)

    def _applier(self, *_: Any) -> Any:
        async def judged(_: Any) -> tuple[Plan, list[Judged]]:
            return Plan((), outputs_change=False, errored=False), self.changes

        return SimpleNamespace(judged=judged, refusal=lambda _, kept: self._policy_of(kept))

    def _policy_of(self, kept: Any) -> None:
        self.checked = [change.node for change in kept]

    async def _serving(self) -> frozenset[str]:
        return frozenset({"w-1", "w-2", "w-3"}) - self._leaving


async def test_a_replacement_leaves_the_others_alone(site: Site) -> None:
    """What differs of the node itself is in its new VM; what breaks others waits for its turn."""
    other = replace(judged(Effect.DISCONNECTS), address="vm.w-2", name="w-2", node="w-2")
    gentle = replace(judged(Effect.ONLINE), address="vm.w-3", name="w-3", node="w-3")
    new = replace(judged(Effect.CREATES), address="vm.w-1")
    layer = platform(site.cluster).at(site.root)
    layer.path.mkdir(parents=True)
    before = Planning(site, [judged(Effect.REMOVES_DISK), other, gentle], "w-1")
    found = await before._judged(layer)
    assert [change.node for change in found.judged] == ["w-3"]
    assert found.refused is None
    assert found.holding, "only what is kept is applied"
    assert before.checked == ["w-3"]
    after = await Planning(site, [new, other], "w-1")._judged(layer)
    assert [change.address for change in after.judged] == ["vm.w-1"]

    image = replace(
        judged(Effect.DESTROYS), address="x.iso", name="iso", type="x", role="", node=""
    )
    held = await Planning(site, [new, other, image], "w-1")._judged(layer)
    assert held.refused
    assert "iso would be removed, but w-2 may still use it" in held.refused.what

"""What the stage `upgrade` makes of what runs; decided from facts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.approval import Impact
from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.pipeline.stage import Reporter
from talops.rolls.options import RollOptions
from talops.rolls.rolling import Rolling
from talops.site.site import Site
from talops.stages.upgrade import Upgrade
from talops.upgrades.breaking import Breakage
from talops.upgrades.changes import Facts
from talops.upgrades.path import Part
from talops.upgrades.seen import NodeSeen
from talops.upgrades.versions import Span

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.inventory.model import Cluster

OLD = "v1.13.9"


class World:
    """The example `ha`, whose nodes run what a test says."""

    def __init__(self, cluster: Cluster, root: Path, **options: Any) -> None:
        nothing: Any = None
        self.site = Site(cluster, root, {}, {}, nothing, root, root)
        self.rolling = Rolling(self.site, RollOptions(**options))

    def stage(self) -> Upgrade:
        report = Reporter("upgrade", lambda _: None)
        return Upgrade(self.site, self.site.secrets, report, self.rolling)

    def facts(self, talos: str, **more: Any) -> Facts:
        cluster = self.site.cluster
        version = cluster.kubernetes_version
        nodes = tuple(NodeSeen(n.name, talos, n.image.schematic) for n in cluster.nodes)
        return Facts(nodes, **{"kubernetes": Span(version, version), **more})


@pytest.fixture
def cluster(example: Example) -> Cluster:
    return replace(example("ha"), talos_version="v1.14.1", kubernetes_version="v1.36.3")


def test_every_node_restarts_control_planes_first(cluster: Cluster, tmp_path: Path) -> None:
    """The plan names what happens to each node before anything does."""
    world = World(cluster, tmp_path)
    (change,) = world.stage().plan(world.facts(OLD))
    planes = [node.name for node in cluster.control_planes]
    assert change.target == "Talos v1.13.9 → v1.14.1"
    assert [item.node for item in change.items()][: len(planes)] == planes
    assert {item.node for item in change.items()} == set(cluster.node_names)
    assert {item.impact for item in change.items()} == {Impact.RESTARTS}
    assert all(item.drains for item in change.items())
    assert change.items()[0].members == (3, 2, 3)
    assert world.stage().plan(world.facts("v1.14.1")) == []
    assert world.stage().plan(Facts()) == []


def test_one_of_two_members_does_not_restart_unasked(cluster: Cluster, tmp_path: Path) -> None:
    """Without a majority the API is away; who accepts that names both."""
    gone = cluster.control_planes[-1].name
    pair = replace(cluster, nodes=tuple(n for n in cluster.nodes if n.name != gone))
    world = World(pair, tmp_path)
    with pytest.raises(ConflictError, match="one of two etcd members") as refused:
        world.stage().plan(world.facts(OLD))
    names = frozenset(node.name for node in pair.control_planes)
    assert all(f"--allow-unhealthy-etcd {name}" in str(refused.value.hint) for name in names)
    accepted = World(pair, tmp_path, allow_unhealthy_etcd=names)
    assert accepted.stage().plan(accepted.facts(OLD))


def test_what_stops_a_plan(cluster: Cluster, tmp_path: Path) -> None:
    """A finding, a problem of Kubernetes, no answer of the API, a newer Talos."""
    world = World(cluster, tmp_path)
    broken = Breakage("w", "it would not boot", "correct it")
    for facts, text in (
        (world.facts(OLD, findings=(broken,)), "it would not boot"),
        (world.facts(OLD, problems=("flag x is gone",)), "flag x is gone"),
        (world.facts(OLD, kubernetes=None, unread=UnreachableError("no answer")), "no answer"),
        (world.facts("v1.14.2"), "Talos v1.14.2 runs, which is newer than v1.14.1"),
    ):
        with pytest.raises(TalopsError, match=text):
            world.stage().plan(facts)


def test_kubernetes_is_never_lowered(cluster: Cluster, tmp_path: Path) -> None:
    """What another program raised stays, and Talos is upgraded to what supports it."""
    world = World(cluster, tmp_path)
    raised = Span("v1.36.4", "v1.36.4")
    (change,) = world.stage().plan(world.facts(OLD, kubernetes=raised))
    assert change.target == "Talos v1.13.9 → v1.14.1"


def test_tuppr_keeps_what_it_manages(cluster: Cluster, tmp_path: Path) -> None:
    """Also what depends on its hop is left for a later run."""
    world = World(cluster, tmp_path)
    older = Span("v1.35.4", "v1.35.4")
    facts = world.facts(OLD, kubernetes=older, managed=frozenset({Part.TALOS}))
    assert world.stage().plan(facts) == []
    facts = replace(facts, managed=frozenset({Part.KUBERNETES}))
    assert [change.target for change in world.stage().plan(facts)] == ["Talos v1.13.9 → v1.14.1"]
    newer = world.facts("v1.14.2", managed=frozenset({Part.TALOS}))
    assert world.stage().plan(newer) == []

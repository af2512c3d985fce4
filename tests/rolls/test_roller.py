"""Rolls over real control planes: the order, who is away when, and how a roll goes on."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from talops.app import pauses
from talops.approval import Impact
from talops.errors import TalopsError
from talops.kube.objects import Ref
from talops.pipeline.stage import Seen
from talops.rolls.gates import Absence, Gates
from talops.rolls.marks import ANNOTATION, Mark, begin, is_cordoned, mark_of
from talops.rolls.options import RollOptions
from talops.rolls.order import Width
from talops.rolls.rolling import Rolling as SharedRoll
from talops.rolls.turn import Step, Turn
from talops.stages.membership.return_nodes import Facts, ReturnNodes

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from tests.rolls.conftest import Rolling

    from talops.waiting import Waiting

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rolling]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Watch:
    """Who is away while others are restarted, as etcd and Kubernetes see it."""

    def __init__(self, cluster: Rolling) -> None:
        self.cluster = cluster
        self.away: set[str] = set()
        self.most: dict[bool, int] = {True: 0, False: 0}
        self.order: list[str] = []

    def turn(self, name: str) -> Turn:
        turn = self.cluster.reboot(name, lambda: self._left(name))

        async def arrived() -> str:
            self.away.discard(name)
            return ""

        return dataclasses.replace(turn, arrived=arrived)

    async def _left(self, name: str) -> None:
        self.away.add(name)
        self.order.append(name)
        planes = {n for n in self.away if n.startswith("cp")}
        self.most[True] = max(self.most[True], len(planes))
        self.most[False] = max(self.most[False], len(self.away - planes))
        seen = (await self.cluster.kube_nodes())[name]
        assert is_cordoned(seen), "it is cordoned before it restarts"
        assert mark_of(seen)


@pytest.mark.sampled("rolls")
async def test_all_nodes_are_rolled_in_order(rolling: Start) -> None:
    """Control planes one by one, workers two at a time; all in a new boot and none cordoned."""
    async with rolling("cp-1", "cp-2", "cp-3", "w-1", "w-2") as cluster:
        watch, before = Watch(cluster), cluster.boots()
        async with cluster.kube() as kube:
            await kube.merge(Ref("v1", "Node", "w-2"), {"spec": {"unschedulable": True}})
        roller = cluster.roller(RollOptions(max_unavailable=Width(2)))
        await roller.roll([watch.turn(name) for name in cluster.boots()], cluster.report)

        after = cluster.boots()
        assert all(before[name] != after[name] for name in before)
        assert {*watch.order[:3]} == {"cp-1", "cp-2", "cp-3"}
        assert watch.most[True] == 1
        assert watch.most[False] <= 2
        nodes = await cluster.kube_nodes()
        assert {name for name, node in nodes.items() if is_cordoned(node)} == {"w-2"}
        assert not any(mark_of(node) for node in nodes.values())
        await cluster.lab.assert_one_cluster()
        steps = [step for step, node in cluster.steps() if node == "cp-2"]
        assert steps == [
            *(Step.GATES, Step.ETCD, Step.CORDON, Step.DRAIN, Step.DETACH, Step.GATES),
            *(Step.FORFEIT, Step.ETCD, Step.ACT, Step.RETURN, Step.UNCORDON, Step.AFTER),
        ]


@pytest.mark.sampled("rolls")
async def test_one_node_and_what_was_left_behind(
    rolling: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone it is not drained; the mark of a killed roll is taken over; a failure stops all."""
    async with rolling("cp-1", "w-1", "w-2") as cluster:
        with monkeypatch.context() as patch:
            passes = _passes(patch)
            await _resumes(cluster)
            assert passes == [{"w-2"}, set(), set()], "before, between and after two nodes"
        await _goes_on(cluster)
        await _stops_after_a_failure(cluster)
        await _refuses_to_drain(cluster)
        await _leaves_its_pods_waiting(cluster)


def _passes(patch: pytest.MonkeyPatch) -> list[set[str]]:
    """Who was away whenever a roll asked all of its gates."""
    found: list[set[str]] = []
    plain = Gates.pass_all

    async def pass_all(
        gates: Gates,
        absence: Absence,
        report: Callable[[Waiting], None],
        without: frozenset[str] = frozenset(),
    ) -> None:
        if not without:
            found.append({*absence.away})
        await plain(gates, absence, report, without)

    patch.setattr(Gates, "pass_all", pass_all)
    return found


async def _resumes(cluster: Rolling) -> None:
    """Killed between drain and restart: w-2 is first, and its cordon is removed with the mark."""
    boot = cluster.boots()["w-2"]
    async with cluster.kube() as kube:
        mark = Mark("reboot", boot, "image", cordoned=True, drained=True, stage="roll")
        await kube.merge(Ref("v1", "Node", "w-2"), begin(mark))
    watch, seen = Watch(cluster), list[Mark]()

    async def prepare(mark: Mark) -> Mark:
        seen.append(mark)
        return mark

    turns = [watch.turn("w-1"), dataclasses.replace(watch.turn("w-2"), prepare=prepare)]
    await cluster.roller().roll(turns, cluster.report)
    assert watch.order == ["w-2", "w-1"]
    assert seen == [mark], "what was installed in this boot is known"
    assert cluster.boots()["w-2"] != boot
    assert not any(is_cordoned(node) for node in (await cluster.kube_nodes()).values())


async def _stops_after_a_failure(cluster: Rolling) -> None:
    """The second node is not touched, and the first says how far it came."""
    cluster.events.clear()

    async def fail() -> None:
        raise TalopsError("no space left on device", where="w-1")

    turns = [Turn(cluster.node("w-1"), "upgrade", fail), cluster.reboot("w-2")]
    before = cluster.boots()
    with pytest.raises(TalopsError, match="no space left") as stopped:
        await cluster.roller().roll(turns, cluster.report)
    assert stopped.value.where == "restarting w-1 (w-1)"
    assert stopped.value.hint
    assert cluster.boots() == before
    assert {node for _, node in cluster.steps()} == {"w-1"}
    left = (await cluster.kube_nodes())["w-1"]
    assert is_cordoned(left)
    kept = mark_of(left)
    assert kept
    assert kept.reason == "upgrade"
    assert kept.drained
    # The next run: it only has to uncordon this node.
    await cluster.roller().roll([Turn(cluster.node("w-1"), "upgrade")], cluster.report)
    given = (await cluster.kube_nodes())["w-1"]
    assert not is_cordoned(given)
    assert ANNOTATION not in (given["metadata"].get("annotations") or {})


async def _goes_on(cluster: Rolling) -> None:
    """Killed after the change and before the reboot that it needs: the stage `return` does that."""
    boot = cluster.boots()["w-2"]
    async with cluster.kube() as kube:
        mark = Mark("larger disk", boot, cordoned=True, drained=True, reboot=True)
        await kube.merge(Ref("v1", "Node", "w-2"), begin(mark))
    site = cluster.site
    stage = ReturnNodes(site, cluster.secrets(site), cluster.report, SharedRoll(site))
    facts = await stage.observe()
    assert isinstance(facts, Facts)
    (change,) = stage.plan(facts)
    assert str(change) == "return w-2 (left by an interrupted roll: larger disk)"
    assert change.impact is Impact.RESTARTS
    await stage.apply(change)
    await stage.verify(Seen(facts, (change,)))
    assert cluster.boots()["w-2"] != boot
    assert not is_cordoned((await cluster.kube_nodes())["w-2"])


async def _leaves_its_pods_waiting(cluster: Rolling) -> None:
    """A node that is created again leaves: pods that only it can run do not stop that."""
    containers = [{"name": "c", "image": "i"}]
    meta = {"name": "waits", "namespace": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}}
    async with cluster.kube() as kube:

        async def act() -> None:
            await kube.apply(pod)

        turn = Turn(cluster.node("w-1"), "replacement", act, leaves=True, recreated=True)
        await cluster.roller().turn(turn, cluster.report)
        await cluster.roller().roll([Turn(cluster.node("w-1"), "replacement")], cluster.report)
        await kube.delete(Ref.of(pod))
    assert not is_cordoned((await cluster.kube_nodes())["w-1"])


async def _stops_nothing(cluster: Rolling) -> None:
    """w-1 cannot be drained: w-2, which one action would take down with it, stays in service."""
    acted: list[str] = []

    async def act() -> None:
        acted.append("both")

    turns = [Turn(cluster.node(name), "restart") for name in ("w-1", "w-2")]
    roller = cluster.roller(RollOptions(max_unavailable=Width(2), drain_timeout=1.0))
    with pytest.raises(TalopsError, match="not drained within 1 s"):
        await roller.together(turns, act, cluster.report)
    assert not acted
    left = (await cluster.kube_nodes())["w-2"]
    assert not is_cordoned(left)
    assert mark_of(left) is None


async def _refuses_to_drain(cluster: Rolling) -> None:
    """A budget that allows no eviction stops the roll before the restart, and is named."""
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "nodeName": "w-1",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
        },
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "default"},
    }
    before = cluster.boots()["w-1"]
    async with cluster.kube() as kube:
        for obj in (account, budget, pod):
            await kube.apply(obj)
        status = {
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        }
        await kube.merge(Ref.of(pod), status, subresource="status")
        with pytest.raises(TalopsError, match=r"Pod default/web.*disruption budget") as refused:
            await cluster.roller(RollOptions(drain_timeout=1.0)).roll(
                [cluster.reboot("w-1")], cluster.report
            )
        assert refused.value.where
        assert refused.value.where.startswith("draining w-1")
        assert refused.value.hint == "kubectl get poddisruptionbudgets -n default"
        assert cluster.boots()["w-1"] == before
        await _stops_nothing(cluster)
        await kube.delete(Ref.of(budget))
    await asyncio.wait_for(cluster.roller().roll([cluster.reboot("w-1")], cluster.report), 60)
    assert cluster.boots()["w-1"] != before
    assert not is_cordoned((await cluster.kube_nodes())["w-1"])


@pytest.mark.sampled("rolls")
async def test_a_pause_stops_a_roll_before_its_next_node(rolling: Start) -> None:
    """The node in progress is finished and returned; the next one is not touched."""
    async with rolling("cp-1", "w-1", "w-2") as cluster:
        before = cluster.boots()

        async def paused() -> None:
            await pauses.pause(cluster.site, "audit")

        turns = [cluster.reboot("w-1", paused), cluster.reboot("w-2")]
        with pytest.raises(TalopsError, match="audit"):
            await cluster.roller().roll(turns, cluster.report)
        after = cluster.boots()
        assert (after["w-1"] != before["w-1"], after["w-2"] == before["w-2"]) == (True, True)
        nodes = await cluster.kube_nodes()
        assert not any(is_cordoned(node) or mark_of(node) for node in nodes.values())
        await pauses.resume(cluster.site)
        await cluster.roller().roll([cluster.reboot("w-2")], cluster.report)
        assert cluster.boots()["w-2"] != before["w-2"]

"""Which configs are applied in which order: facts in, batches out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.approval import Impact
from talops.errors import ConflictError
from talops.machineconfig.cost_table import Cost
from talops.machineconfig.costs import Consequence
from talops.machineconfig.shared_secrets import OtherSecret
from talops.reconfigure.order import in_batches, planned, require_changeable
from talops.rolls.options import RollOptions
from talops.rolls.order import Width
from talops.site.fleet import Configured, InMaintenance
from talops.site.node_facts import Facts, NodeFacts, Standing, change_for, require_own_secrets
from talops.talos.calls.machine import ApplyMode
from talops.talos.kinds import MachineStatus

if TYPE_CHECKING:
    from tests.examples import Example

    from talops.inventory.model import Cluster

STATE = Configured("machine: {type: worker}\n", MachineStatus("running", ready=True, unmet=()))
PLANES = ("ha-cp-1", "ha-cp-2", "ha-cp-3")


def differing(*costs: Consequence, mode: ApplyMode = ApplyMode.NO_REBOOT) -> NodeFacts:
    return NodeFacts(STATE, False, mode, ("machine.x",), costs=costs)


LIVE = differing()
CUT = differing(Consequence("LinkConfig/net0", Cost.CUT))
SAME = NodeFacts(STATE, same=True)


@pytest.fixture
def ha(example: Example) -> Cluster:
    return example("ha")


def batches(cluster: Cluster, facts: Facts, width: int = 1) -> list[tuple[list[str], int]]:
    options = RollOptions(max_unavailable=Width(width))
    found = in_batches(planned(facts), cluster, options, 10)
    return [([change.target for change in batch.changes], batch.width) for batch in found]


def test_control_planes_one_by_one_then_workers(ha: Cluster) -> None:
    """The sick one first and the leader last; workers as many at a time as may be away."""
    workers = [node.name for node in ha.workers]
    standing = {"ha-cp-1": Standing(leader=True), "ha-cp-3": Standing(sick=True)}
    facts = Facts(dict.fromkeys((*PLANES, *workers), LIVE), founded=True, standing=standing)
    assert batches(ha, facts, 2) == [(["ha-cp-3", "ha-cp-2", "ha-cp-1"], 1), (workers, 2)]


def test_before_there_is_a_cluster(ha: Cluster) -> None:
    """Nothing serves yet: all at the same time, as for first configs."""
    facts = Facts({"ha-cp-1": LIVE, "ha-cp-2": NodeFacts(InMaintenance(), same=False)})
    assert batches(ha, facts) == [(["ha-cp-1", "ha-cp-2"], 10)]


def test_new_nodes_follow(ha: Cluster) -> None:
    """A config that breaks a running node is not given to new ones."""
    facts = Facts({"ha-cp-1": NodeFacts(InMaintenance(), same=False), "ha-cp-2": LIVE}, True)
    assert batches(ha, facts) == [(["ha-cp-2"], 1), (["ha-cp-1"], 10)]


def test_one_worker_alone_where_a_change_could_cut_off(ha: Cluster) -> None:
    """The first trial decides about the rest; a control plane before them has decided already."""
    workers = [node.name for node in ha.workers]
    assert len(workers) > 1
    alone = [([workers[0]], 1), (workers[1:], 2)]
    assert batches(ha, Facts(dict.fromkeys(workers, CUT), founded=True), 2) == alone
    proven = {"ha-cp-1": CUT, **dict.fromkeys(workers, CUT)}
    assert batches(ha, Facts(proven, founded=True), 2) == [(["ha-cp-1"], 1), (workers, 2)]
    other = {"ha-cp-1": LIVE, **dict.fromkeys(workers, CUT)}
    assert batches(ha, Facts(other, founded=True), 2) == [(["ha-cp-1"], 1), *alone]


def test_what_an_interrupted_roll_left(ha: Cluster) -> None:
    """Returned before another node is taken out of service."""
    left = frozenset({ha.workers[-1].name})
    facts = Facts({"ha-cp-1": LIVE, ha.workers[-1].name: SAME}, founded=True, left=left)
    assert batches(ha, facts) == [([ha.workers[-1].name, "ha-cp-1"], 1)]
    assert (
        str(planned(facts)[1])
        == f"return {ha.workers[-1].name} (an interrupted run has drained it)"
    )


@pytest.mark.parametrize(
    ("seen", "detail", "impact"),
    [
        (LIVE, "machine.x: without a reboot", Impact.CHANGES),
        (CUT, "machine.x: without a reboot, tried first", Impact.CHANGES),
        (
            differing(
                Consequence("machine.kubelet", Cost.RESTART, "kubelet"),
                Consequence("cluster.apiServer", Cost.RESTART, "kube-apiserver"),
            ),
            "machine.x: restarts kube-apiserver, kubelet",
            Impact.RESTARTS_SERVICE,
        ),
        (
            differing(Consequence("LinkConfig/net0", Cost.CUT), mode=ApplyMode.REBOOT),
            "machine.x: reboots, tried first",
            Impact.RESTARTS,
        ),
        (
            differing(Consequence("machine.type", Cost.FIXED)),
            "machine.x: cannot change on an installed node: machine.type",
            Impact.REPLACES,
        ),
    ],
)
def test_a_plan_names_the_cost(seen: NodeFacts, detail: str, impact: Impact) -> None:
    """Nothing, a restart, a trial, a reboot, or another installation."""
    change = change_for("n", seen)
    assert change
    assert change.detail == detail
    assert change.impact is impact


def test_what_no_apply_can_change() -> None:
    """Refused before any node gets a config, with the way that works."""
    facts = Facts({"a": LIVE, "b": differing(Consequence("machine.type", Cost.FIXED))}, True)
    with pytest.raises(ConflictError, match=r"nothing was sent:\n  b: machine\.type") as refused:
        require_changeable(planned(facts))
    assert refused.value.hint
    assert refused.value.hint.endswith("one after the other: talops replace b")
    live, fixed = planned(facts)
    assert live.refusal() is None
    # Known with the plan: before OpenTofu or anything else changes.
    assert fixed.refusal()
    assert fixed.impact is Impact.REPLACES
    assert replace(fixed, leaves=True).refusal() is None, "it gets its config as a new node"
    require_changeable([live])


def test_other_secrets() -> None:
    """Named with what they would break, and with the nodes; a value is never shown."""
    other = (OtherSecret("cluster.id", "cluster id", "nodes would not find each other"),)
    seen = NodeFacts(STATE, same=False, others=other)
    with pytest.raises(ConflictError, match="cluster id of a, b: nodes would not find each other"):
        require_own_secrets({"a": seen, "b": seen, "c": SAME})
    require_own_secrets({"c": SAME})

"""What `talops verify` makes of Talos' own lists of members: facts in, findings out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.checks.verdicts import verdict, words

from talops.checks.after import members
from talops.pipeline.checks import Verdict
from talops.talos.kinds import Discovery, Member

if TYPE_CHECKING:
    from tests.examples import Example

    from talops.inventory.model import Cluster


def _members(cluster: Cluster) -> list[Member]:
    kinds = {True: "control plane", False: "worker"}
    return [
        Member(n.name, n.name, n.name, (n.address,), kinds[n.controller], "Talos")
        for n in cluster.nodes
    ]


def test_members_are_the_inventory(example: Example) -> None:
    """No member is missing or foreign; roles and addresses as written."""
    ha = example("ha")
    assert verdict(members.judge(ha, {"ha-cp-1": _members(ha)})) is Verdict.PASSED


def test_a_machine_that_is_gone(example: Example) -> None:
    """Discovery remembers it for a while: no failure, unless it still answers."""
    ha = example("ha")
    old = replace(_members(ha)[-1], hostname="old-w-9")
    lists = {"ha-cp-1": [*_members(ha), old]}
    assert verdict(members.judge(ha, lists)) is Verdict.FAILED
    found = members.judge(ha, lists, frozenset({"old-w-9"}))
    assert verdict(found) is Verdict.WARNING
    assert "old-w-9 does not answer any more" in words(found)


def _alone(cluster: Cluster) -> dict[str, list[Member]]:
    """As real nodes list members without a discovery service: only themselves."""
    return {member.hostname: [member] for member in _members(cluster)}


def test_nodes_that_do_not_know_each_other(example: Example) -> None:
    """Distinguished from a node that one list lacks; a single node is never alone in this sense."""
    ha, dev = example("ha"), example("dev")
    alone = _alone(ha)
    assert members.each_alone(ha, alone)
    assert not members.each_alone(ha, {})
    assert not members.each_alone(ha, {**alone, "ha-cp-1": _members(ha)})
    assert members.each_alone(dev, _alone(dev)) == (len(dev.nodes) > 1)


@pytest.mark.parametrize(
    ("setting", "expected", "says"),
    [
        (Discovery(enabled=False, service=""), Verdict.PASSED, "discovery is disabled"),
        (None, Verdict.PASSED, "discovery is disabled"),
        (
            Discovery(enabled=True, service="d.example:443"),
            Verdict.WARNING,
            "allow the nodes to reach d",
        ),
    ],
    ids=["off", "no setting", "unreachable"],
)
def test_members_without_a_discovery_service(
    example: Example, setting: Discovery | None, expected: Verdict, says: str
) -> None:
    """It is said once, however many nodes there are, and fails nothing."""
    ha = example("ha")
    (finding,) = members.judge_alone(ha, _alone(ha), setting)
    assert finding.verdict is expected
    assert says in f"{finding} {finding.hint}"


def test_differences_without_a_discovery_service(example: Example) -> None:
    """What a node says of itself is also compared with the inventory."""
    ha = example("ha")
    lists = _alone(ha)
    lists["ha-w-1"] = [replace(lists["ha-w-1"][0], machine_type="control plane")]
    lists["ha-w-2"] = []
    found = members.judge_alone(ha, lists, Discovery(enabled=True, service="d.example:443"))
    assert verdict(found) is Verdict.FAILED
    assert "ha-w-1 is a control plane, but the inventory says worker" in words(found)
    assert "ha-w-2 is not a Talos member" in words(found)


def test_nodes_that_list_no_member(example: Example) -> None:
    """With discovery off Talos makes no affiliate of the node, so it does not list itself either;
    with a service that cannot be reached it does, and a node without members is in trouble.
    """
    ha = example("ha")
    no_member: dict[str, list[Member]] = {node.name: [] for node in ha.nodes}
    (finding,) = members.judge_alone(ha, no_member, Discovery(enabled=False, service=""))
    assert finding.verdict is Verdict.SKIPPED
    assert "Talos lists no members" in f"{finding}"
    on = members.judge_alone(ha, no_member, Discovery(enabled=True, service="d.example:443"))
    assert verdict(on) is Verdict.FAILED
    stranger = {**no_member, "ha-w-1": [_members(ha)[0]]}
    off = members.judge_alone(ha, stranger, Discovery(enabled=False, service=""))
    assert "ha-w-1 is not a Talos member" in words(off)


@pytest.mark.parametrize(
    ("change", "says", "final"),
    [
        ("drop", "ha-w-1 is not a Talos member", False),
        ("foreign", "stranger is a Talos member but not in the inventory", True),
        ("role", "ha-w-1 is a control plane, but the inventory says worker", True),
        ("address", "ha-w-1 has 10.30.0.22, but the inventory says 10.30.0.21", False),
    ],
)
def test_members_that_differ(example: Example, change: str, says: str, final: bool) -> None:
    """Each difference is named; only what waiting cannot heal is final."""
    ha = example("ha")
    seen = {member.hostname: member for member in _members(ha)}
    if change == "drop":
        del seen["ha-w-1"]
    elif change == "foreign":
        seen["stranger"] = replace(seen["ha-w-1"], hostname="stranger")
    elif change == "role":
        seen["ha-w-1"] = replace(seen["ha-w-1"], machine_type="control plane")
    else:
        seen["ha-w-1"] = replace(seen["ha-w-1"], addresses=seen["ha-w-2"].addresses)
    found = members.judge(ha, {"ha-cp-1": list(seen.values())})
    assert says in words(found)
    assert [f.final for f in found] == [final]

"""What fails with what, for the layouts of the examples and for awkward ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.app.analysis import analyze

if TYPE_CHECKING:
    from tests.examples import Example

    from talops.inventory.model import Cluster


def placed(cluster: Cluster, hosts: str, *, vip: bool = True) -> Cluster:
    """The control planes of the example `ha`, one per letter, each on the host of that name."""
    planes, workers = cluster.control_planes, cluster.workers
    spread = []
    for number, host in enumerate(hosts):
        pattern = planes[number % len(planes)]
        assert pattern.vm
        spread.append(replace(pattern, name=f"cp-{number}", vm=replace(pattern.vm, host=host)))
    return replace(cluster, nodes=(*spread, *workers), vip=cluster.vip if vip else None)


@pytest.mark.parametrize(
    ("hosts", "stopping", "rules"),
    [
        ("a", {"a", "cp-0"}, {"single-control-plane"}),
        ("aaa", {"a"}, {"quorum-on-one-host"}),
        ("aab", {"a"}, {"quorum-on-one-host"}),
        ("abc", set(), set()),
        ("ab", {"a", "b", "cp-0", "cp-1"}, {"quorum-on-one-host", "even-control-planes"}),
        ("abcd", set(), {"even-control-planes"}),
        ("aabb", {"a", "b"}, {"quorum-on-one-host", "even-control-planes"}),
        ("aabbc", set(), set()),
        ("aaabc", {"a"}, {"quorum-on-one-host"}),
    ],
)
def test_quorum(example: Example, hosts: str, stopping: set[str], rules: set[str]) -> None:
    """Exactly the hosts and nodes that take the majority with them are named."""
    found = analyze(placed(example("ha"), hosts))
    assert {loss.name for loss in found.losses if not loss.quorum} == stopping
    assert {weakness.rule for weakness in found.weaknesses} - {"workers-on-one-host"} == rules
    assert found.spare == (len(hosts) - 1) // 2


def test_without_a_vip_the_api_goes_with_its_address(example: Example) -> None:
    """Although etcd keeps its majority."""
    found = analyze(placed(example("ha"), "abc", vip=False))
    first = next(loss for loss in found.losses if loss.name == "a")
    assert first.quorum
    assert not first.survives
    assert next(loss for loss in found.losses if loss.name == "b").survives
    assert "no-vip" in {weakness.rule for weakness in found.weaknesses}


def test_gpus_and_cores(example: Example) -> None:
    """Capacity that is lost with a node; control planes take no workloads beside workers."""
    found = {loss.name: loss for loss in analyze(example("gpu")).losses}
    assert (found["gpu-w-1"].gpus_lost, found["gpu-w-1"].gpus_all) == (1, 2)
    assert found["gpu-w-1"].cores_lost == 12
    assert found["gpu-cp-1"].cores_lost == 0


def test_everything_of_a_kind_on_one_host(example: Example) -> None:
    """Named where there is another host to spread to."""
    found = analyze(placed(example("ha"), "abc"))
    assert [w.rule for w in found.weaknesses] == ["workers-on-one-host"]


@pytest.mark.parametrize("name", ["single", "dev", "bare-metal", "two-hosts", "gpu"])
def test_every_example_can_be_analyzed(example: Example, name: str) -> None:
    """Also without VMs; the answer is plain data."""
    cluster = example(name)
    data = analyze(cluster).as_dict()
    assert len([row for row in data["losses"] if row["kind"] == "node"]) == len(cluster.nodes)

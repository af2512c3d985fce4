"""What the checks of `talops verify` make of what they see: facts in, findings out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.checks.verdicts import verdict, words
from tests.examples import Example, kube_nodes

from talops.checks.after import (
    api,
    certificates,
    endpoint,
    etcd,
    machines,
    nodes,
    versions,
)
from talops.pipeline.checks import Verdict
from talops.talos.calls.etcd import EtcdAlarm, EtcdMember, EtcdStatus
from talops.talos.kinds import MachineStatus


def test_versions_name_every_place_that_differs(example: Example) -> None:
    """Talos and Kubernetes apart."""
    ha = example("ha")
    talos = {"ha-cp-1": ha.talos_version, "ha-w-1": "v1.12.0"}
    found = versions.judge(ha, talos, {"the API server": ha.kubernetes_version})
    assert "ha-w-1 runs Talos v1.12.0, but the inventory says v1.14.1" in words(found)
    assert "Kubernetes v1.36.3 in 1 place" in words(found)
    assert verdict(found) is Verdict.FAILED


def test_a_newer_kubernetes_is_a_warning(example: Example) -> None:
    """Another program raised it: the operator decides, and no run waits for it."""
    ha = example("ha")
    found = versions.judge(ha, {}, {"the API server": "v1.99.0", "the kubelet of a": "v1.99.0"})
    assert verdict(found) is Verdict.WARNING
    assert found[0].hint == "set kubernetes_version: v1.99.0 in cluster.yaml"
    older = versions.judge(ha, {}, {"the API server": "v1.30.0"})
    assert (verdict(older), older[0].hint) == (Verdict.FAILED, "talops up")


PLANES = ("cp-1", "cp-2", "cp-3")


def _etcd(**changes: Any) -> dict[str, etcd.EtcdReport]:
    status = EtcdStatus(1, 7, "3.6", "3.6", 2**21, 2**20, 900, 3, 900, False, ())
    listed = [EtcdMember(i, name, (), (), False) for i, name in enumerate(PLANES)]
    answer = etcd.EtcdReport(replace(status, **changes), listed, [])
    whole = etcd.EtcdReport(status, listed, [])
    return {"cp-1": answer, "cp-2": whole, "cp-3": whole}


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (_etcd(leader=0), "cp-1: etcd has no leader"),
        (_etcd(leader=9), "the etcd members follow 2 different leaders"),
        (_etcd(errors=("no space",)), "cp-1: no space"),
        (_etcd(raft_applied_index=900 + etcd.LAG + 1), "cp-2: etcd is 5001 log entries behind"),
    ],
)
def test_etcd_that_is_not_well(answers: dict[str, etcd.EtcdReport], says: str) -> None:
    """Leader, errors, agreement and lag."""
    found = etcd.judge(set(PLANES), answers)
    assert says in words(found)
    assert verdict(found) is Verdict.FAILED


def test_etcd_membership_and_alarms() -> None:
    """Members are the control planes, and an alarm is never overlooked."""
    well = _etcd()
    assert verdict(etcd.judge(set(PLANES), well)) is Verdict.PASSED
    assert "cp-4 is not an etcd member" in words(etcd.judge({*PLANES, "cp-4"}, well))
    foreign = etcd.judge({"cp-1", "cp-2"}, well)
    assert "cp-3 is an etcd member but not a control plane" in words(foreign)
    alarmed = {**well, "cp-1": replace(well["cp-1"], alarms=[EtcdAlarm(1, "NOSPACE")])}
    assert "the alarm NOSPACE" in words(etcd.judge(set(PLANES), alarmed))
    learner = replace(well["cp-1"].members[1], learner=True)
    learning = replace(well["cp-1"], members=[well["cp-1"].members[0], learner])
    assert "cp-2 is still a learner" in words(etcd.judge({"cp-1", "cp-2"}, {"cp-1": learning}))


def test_two_sets_of_members_are_a_split_brain() -> None:
    """Each side alone would look healthy."""
    well = _etcd()
    other = [replace(member, id=member.id + 100) for member in well["cp-1"].members]
    split = {**well, "cp-3": replace(well["cp-3"], members=other)}
    assert "different member lists" in words(etcd.judge(set(PLANES), split))


def test_nodes_as_written(example: Example) -> None:
    """Ready, roles, labels, taints."""
    for name in ("ha", "gpu", "single"):
        cluster = example(name)
        assert verdict(nodes.judge(cluster, kube_nodes(cluster))) is Verdict.PASSED


@pytest.mark.parametrize(
    ("node", "path", "value", "says", "grave"),
    [
        ("gpu-w-1", ("spec", "taints"), [], "taint nvidia.com/gpu=present:NoSchedule", "failed"),
        ("gpu-cp-1", ("metadata", "labels"), {}, "the role is not controlplane", "failed"),
        ("gpu-w-1", ("spec", "unschedulable"), True, "is cordoned", "warning"),
        (
            "gpu-w-1",
            ("status", "conditions"),
            [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}],
            "not Ready: KubeletNotReady",
            "failed",
        ),
        ("gpu-w-1", ("status", "conditions"), [], "no condition Ready yet", "failed"),
        (
            "gpu-cp-1",
            ("spec", "taints"),
            [
                {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                {"key": "mine", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
            ],
            "taint mine:NoExecute is not in the inventory",
            "warning",
        ),
    ],
)
def test_a_node_that_differs(
    example: Example, node: str, path: tuple[str, str], value: object, says: str, grave: str
) -> None:
    """One field changed, one finding."""
    gpu = example("gpu")
    seen = kube_nodes(gpu)
    seen[node][path[0]][path[1]] = value
    found = nodes.judge(gpu, seen)
    assert says in words(found)
    assert [f.verdict for f in found] == [grave]


def test_nodes_missing_and_foreign(example: Example) -> None:
    """Both are differences; only the foreign one is final."""
    ha = example("ha")
    seen = kube_nodes(ha)
    seen["stranger"] = seen.pop("ha-w-1")
    found = nodes.judge(ha, seen)
    assert [(str(f), f.final) for f in found] == [
        ("ha-w-1 is not in Kubernetes", False),
        ("stranger is in Kubernetes but not in the inventory", True),
    ]


def test_the_calendar_comes_in_order() -> None:
    """Ended fails, ending soon warns, the rest is listed."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    month = timedelta(days=30)
    rows = [
        certificates.CertificateExpiry("later", now + timedelta(days=400), month, "h"),
        certificates.CertificateExpiry("soon", now + timedelta(days=3), month, "renew it"),
        certificates.CertificateExpiry("ended", now - timedelta(days=1), month, "h"),
        certificates.CertificateExpiry(
            "renewed by Talos", now + timedelta(hours=5), timedelta(), "h"
        ),
    ]
    found = certificates.judge(rows, now)
    assert [f.verdict.value for f in found] == ["failed", "passed", "warning", "passed"]
    assert str(found[2]) == "soon expires on 2026-01-04, in 3 days"
    assert "in 5 hours" in str(found[1])


@pytest.mark.parametrize(
    ("holders", "expected"),
    [(["cp-1"], Verdict.PASSED), ([], Verdict.UNPROVEN), (["cp-1", "cp-2"], Verdict.FAILED)],
)
def test_one_holds_the_vip(example: Example, holders: list[str], expected: Verdict) -> None:
    """Two holders are a broken network; none that says so proves nothing."""
    assert verdict(endpoint.judge_holders(example("ha"), holders)) is expected


def test_api_behind_another_endpoint() -> None:
    """A kubeconfig of somewhere else is final; failing parts are named."""
    assert verdict(api.judge("https://a:6443", "https://a:6443", [])) is Verdict.PASSED
    found = api.judge("https://b:6443", "https://a:6443", ["etcd"])
    assert "check etcd fails" in words(found)
    assert "points to https://b:6443" in words(found)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (MachineStatus("running", True, ()), "Talos runs and is ready on 1 node"),
        (MachineStatus("booting", False, ()), "Talos on cp-1 is booting"),
        (
            MachineStatus("running", False, (("services", "kubelet not healthy"),)),
            "Talos on cp-1 is not ready: services: kubelet not healthy",
        ),
        (None, "Talos on cp-1 reports no machine status yet"),
    ],
)
def test_a_machine_is_up_when_it_says_so(status: MachineStatus | None, said: str) -> None:
    """A node that Kubernetes calls Ready may still be on its way."""
    assert [finding.what for finding in machines.judge({"cp-1": status})] == [said]

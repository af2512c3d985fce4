"""What the checks of `talops verify` make of what they see: facts in, findings out."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import Example, kube_nodes

from talops.checks.after import (
    api,
    certificates,
    endpoint,
    etcd,
    flux,
    gpus,
    machines,
    members,
    nodes,
    smoke,
    storage,
    versions,
)
from talops.pipeline.checks import CheckResult, Finding, Verdict
from talops.talos.calls.etcd import EtcdAlarm, EtcdMember, EtcdStatus
from talops.talos.kinds import Discovery, MachineStatus, Member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from talops.inventory.model import Cluster
    from talops.kube.objects import Ref


def verdict(findings: Sequence[Finding]) -> Verdict:
    return CheckResult("x", tuple(findings)).verdict


def words(findings: Sequence[Finding]) -> str:
    return "\n".join(map(str, findings))


def _members(cluster: Cluster) -> list[Member]:
    kinds = {True: "control plane", False: "worker"}
    return [
        Member(n.name, n.name, n.name, (n.address,), kinds[n.controller], "Talos")
        for n in cluster.nodes
    ]


def test_members_are_the_inventory(example: Example) -> None:
    """Nobody missing, nobody foreign, roles and addresses as written."""
    ha = example("ha")
    assert verdict(members.judge(ha, {"ha-cp-1": _members(ha)})) is Verdict.PASSED


def _alone(cluster: Cluster) -> dict[str, list[Member]]:
    """As real nodes list members without a discovery service: only themselves."""
    return {member.hostname: [member] for member in _members(cluster)}


def test_nodes_that_do_not_know_each_other(example: Example) -> None:
    """Told from a node that one list lacks; a single node is never alone in this sense."""
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
    """What a node says of itself is compared with the inventory all the same."""
    ha = example("ha")
    lists = _alone(ha)
    lists["ha-w-1"] = [replace(lists["ha-w-1"][0], machine_type="control plane")]
    lists["ha-w-2"] = []
    found = members.judge_alone(ha, lists, Discovery(enabled=True, service="d.example:443"))
    assert verdict(found) is Verdict.FAILED
    assert "ha-w-1 is a control plane, but the inventory says worker" in words(found)
    assert "ha-w-2 is not a Talos member" in words(found)


def test_nodes_that_list_nobody(example: Example) -> None:
    """With discovery off Talos makes no affiliate of the node, so it does not list itself either;
    with a service that cannot be reached it does, and a node without members is in trouble.
    """
    ha = example("ha")
    nobody: dict[str, list[Member]] = {node.name: [] for node in ha.nodes}
    (finding,) = members.judge_alone(ha, nobody, Discovery(enabled=False, service=""))
    assert finding.verdict is Verdict.SKIPPED
    assert "Talos lists no members" in f"{finding}"
    on = members.judge_alone(ha, nobody, Discovery(enabled=True, service="d.example:443"))
    assert verdict(on) is Verdict.FAILED
    stranger = {**nobody, "ha-w-1": [_members(ha)[0]]}
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


def test_versions_name_every_place_that_differs(example: Example) -> None:
    """Talos and Kubernetes apart."""
    ha = example("ha")
    talos = {"ha-cp-1": ha.talos_version, "ha-w-1": "v1.12.0"}
    found = versions.judge(ha, talos, {"the API server": ha.kubernetes_version})
    assert "ha-w-1 runs Talos v1.12.0, but the inventory says v1.13.9" in words(found)
    assert "Kubernetes v1.36.3 in 1 place" in words(found)
    assert verdict(found) is Verdict.FAILED


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
    ("have", "run", "expected"),
    [
        ("1", True, "passed"),
        ("0", True, "failed"),
        ("0", False, "unproven"),
        ("2", False, "passed"),
    ],
)
def test_gpu_capacity(example: Example, have: str, run: bool, expected: str) -> None:
    """Missing capacity fails only where a device plugin could run."""
    gpu = example("gpu")
    seen = kube_nodes(gpu)
    for node in seen.values():
        node["status"]["allocatable"] = {gpus.RESOURCE: have}
    assert {f.verdict for f in gpus.judge(gpu, seen, run=run)} == {expected}


class Kube:
    """As much of a cluster as the check asks about."""

    def __init__(self, *objects: Ref) -> None:
        self.objects = objects

    async def list_all(self, *_: str) -> list[Any]:
        return []

    async def get(self, ref: Ref) -> dict[str, Any] | None:
        return {"kind": ref.kind} if ref in self.objects else None


@pytest.mark.parametrize(
    ("talos", "left", "warned"),
    [("v1.13.9", True, True), ("v1.13.9", False, False), ("v1.12.4", True, False)],
)
async def test_the_old_device_plugin(
    example: Example, talos: str, left: bool, warned: bool
) -> None:
    """Two plugins for the same GPUs: below Talos 1.13 there is one, and it is the right one."""
    kube = Kube(gpus.OLD_PLUGIN) if left else Kube()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Kube]:
        yield kube

    site = SimpleNamespace(cluster=replace(example("gpu"), talos_version=talos))
    reach: Any = SimpleNamespace(site=site, kube=opened)
    found = await gpus.look(reach)
    assert (gpus.LEFT_OVER in found) is warned


def _flux(kind: str, ready: str | None, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready, "reason": "Why"}] if ready else []
    meta = {"name": "apps", "namespace": "flux-system"}
    return {"kind": kind, "metadata": meta, "spec": spec, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("obj", "run", "expected", "says"),
    [
        (_flux("GitRepository", "True"), True, "passed", "Ready"),
        (
            _flux("Kustomization", "True", decryption={"provider": "sops"}),
            True,
            "passed",
            "decrypt",
        ),
        (_flux("Kustomization", "False"), True, "failed", "Why"),
        (_flux("Kustomization", None), True, "failed", "no condition Ready yet"),
        (_flux("Kustomization", None), False, "unproven", "no controller manager"),
        (_flux("Kustomization", "True", suspend=True), True, "warning", "suspended"),
    ],
)
def test_flux_objects(obj: dict[str, Any], run: bool, expected: str, says: str) -> None:
    """Ready, broken, untouched, suspended."""
    (found,) = flux.judge([obj], run=run)
    assert found.verdict == expected
    assert says in found.what


@pytest.mark.parametrize(
    ("value", "expected"), [("plain", "passed"), ("ENC[AES256_GCM", "failed"), ("", "unproven")]
)
def test_the_canary(value: str, expected: str) -> None:
    """Plain in the cluster, or not there; never still encrypted."""
    data = {"canary": base64.b64encode(value.encode()).decode()}
    assert flux.judge_canary({"data": data}).verdict == expected
    assert flux.judge_canary(None).verdict == "unproven"


def test_storage_class() -> None:
    """Only one of the plugin counts."""
    ours = {"metadata": {"name": "fast"}, "provisioner": storage.PROVISIONER}
    other = {"metadata": {"name": "other"}, "provisioner": "x"}
    assert verdict(storage.judge([other, ours])) is Verdict.PASSED
    assert verdict(storage.judge([other])) is Verdict.WARNING


def test_the_smoke_workload_belongs_together() -> None:
    """The service selects the server alone, and the job asks for it by its DNS name."""
    service, deployment, job = smoke.workload("space", "cafe")
    selector = service["spec"]["selector"]
    assert deployment["spec"]["template"]["metadata"]["labels"] == selector
    assert job["spec"]["template"]["metadata"]["labels"] != selector
    command = job["spec"]["template"]["spec"]["containers"][0]["command"][-1]
    assert "http://talops-smoke.space.svc:8080" in command
    assert "cafe" in command


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

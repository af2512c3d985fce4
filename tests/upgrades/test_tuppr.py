"""Objects of tuppr, and what talops does where tuppr upgrades a cluster.

Fields and patterns are those of tuppr's API, read in api/v1alpha1/talosupgrade_types.go (00a8ffd),
kubernetesupgrade_types.go and shared_types.go (05b89d1) of github.com/home-operations/tuppr.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.stages.test_workflows import RECORD

from talops.app.drift.look import by_tuppr
from talops.app.drift.model import UPGRADES, AreaDrift, Difference
from talops.checks.after import versions
from talops.inventory.operating import Gate, Maintenance
from talops.pipeline.checks import Verdict
from talops.site.site import Site
from talops.tofu.policy import Policy
from talops.upgrades.path import Part
from talops.upgrades.tuppr import objects, unrendered
from talops.workflows import up

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.inventory.model import Cluster

VERSION = re.compile(r"^v[0-9]+\.[0-9]+\.[0-9]+(-[a-zA-Z0-9\-\.]+)?$")
DURATION = re.compile(r"^([0-9]+[smh])+$")
CHECK = {"apiVersion", "kind", "name", "namespace", "expr", "timeout", "description"}
SHARED = {"healthChecks", "maintenance", "talosctl"}
FIELDS = {
    "TalosUpgrade": SHARED | {"talos", "policy", "nodeSelector", "parallelism", "hooks"},
    "KubernetesUpgrade": SHARED | {"kubernetes"},
}
POLICY = {"debug", "force", "waitForVolumeDetach", "placement", "rebootMode", "stage", "timeout"}


@pytest.fixture
def cluster(example: Example) -> Cluster:
    windows = [
        {"days": ["sat", "sun"], "start": "22:00", "end": "04:30"},
        {"start": "03:05", "end": "03:35"},
    ]
    ceph: dict[str, Any] = {
        "name": "ceph",
        "object": {"api_version": "ceph.rook.io/v1", "kind": "CephCluster", "namespace": "rook"},
        "expression": 'object.status.ceph.health == "HEALTH_OK"',
    }
    return replace(
        example("ha"),
        upgrades="tuppr",
        maintenance=Maintenance.model_validate({"time_zone": "Europe/Berlin", "windows": windows}),
        gates=(
            Gate.model_validate(ceph),
            Gate.model_validate({"name": "on-call", "command": ["./on-call"]}),
        ),
    )


def test_objects(cluster: Cluster) -> None:
    """One for each part, with fields that tuppr knows: version, windows and expressions."""
    found = objects(cluster)
    talos, kubernetes = found[Part.TALOS], found[Part.KUBERNETES]
    assert {obj["apiVersion"] for obj in found.values()} == {"tuppr.home-operations.com/v1alpha1"}
    for obj in found.values():
        assert obj["spec"].keys() <= FIELDS[obj["kind"]]
        assert "namespace" not in obj["metadata"], "both kinds are of the cluster"
        (check,) = obj["spec"]["healthChecks"]
        assert check.keys() <= CHECK
        assert DURATION.match(check["timeout"])
        assert (check["kind"], check["namespace"]) == ("CephCluster", "rook")
        windows = obj["spec"]["maintenance"]["windows"]
        assert [(w["start"], w["duration"], w["timezone"]) for w in windows] == [
            ("0 22 * * 6,0", "6h30m", "Europe/Berlin"),
            ("5 3 * * *", "30m", "Europe/Berlin"),
        ]
        assert all(DURATION.match(window["duration"]) for window in windows)
    assert talos["spec"]["talos"] == {"version": cluster.talos_version}
    assert talos["spec"]["policy"].keys() <= POLICY
    assert "force" not in talos["spec"]["policy"]
    assert kubernetes["spec"]["kubernetes"] == {"version": cluster.kubernetes_version}
    for version in (cluster.talos_version, cluster.kubernetes_version):
        assert VERSION.match(version)
    assert unrendered(cluster) == ["on-call"]


def test_without_windows_and_gates(example: Example) -> None:
    """Empty lists are not sent: tuppr demands at least one window in a list."""
    for obj in objects(example("ha")).values():
        assert not {"healthChecks", "maintenance"} & obj["spec"].keys()


def test_who_upgrades(cluster: Cluster, tmp_path: Path) -> None:
    """The stage `upgrade` is that of tuppr only where the inventory says so."""
    nothing: Any = None
    site = Site(cluster, tmp_path, {}, {}, nothing, tmp_path, tmp_path)
    for upgrades, name in (("tuppr", "Tuppr"), ("talops", "Upgrade")):
        chosen = replace(site, cluster=replace(cluster, upgrades=upgrades))
        stages = up.up(chosen, RECORD, Policy())
        (stage,) = [each for each in stages if each.name == "upgrade"]
        assert type(stage._stage).__name__ == name  # type: ignore[attr-defined]


def test_verify_and_drift_leave_versions_to_it(cluster: Cluster) -> None:
    """A difference is shown with the command that shows what tuppr does; nothing fails for it."""
    talos = {"ha-w-1": "v1.12.0"}
    (found,) = versions.judge(cluster, talos, {}, {"Talos"})
    assert found.verdict is Verdict.WARNING
    assert "tuppr upgrades it" in found.what
    assert found.hint == "kubectl get talosupgrades"
    (failed,) = versions.judge(cluster, talos, {}, {"Kubernetes"})
    assert failed.verdict is Verdict.FAILED

    rows = [
        Difference("talos", "w-1", attribute, "a", "b", impact, "talops up")
        for attribute, impact in (
            *(("Talos", UPGRADES), ("schematic", UPGRADES)),
            *(("kubelet", UPGRADES), ("machine.x", "online")),
        )
    ]
    area = AreaDrift("talos", tuple(rows))
    commands = [d.command for d in by_tuppr(area, {"Talos", "Kubernetes"}).differences]
    assert commands == [
        "kubectl get talosupgrades",
        "talops up",
        "kubectl get kubernetesupgrades",
        "talops up",
    ]
    assert by_tuppr(area, ()) == area

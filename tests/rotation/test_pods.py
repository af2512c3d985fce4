"""Which pods hold only the old CA: kube-root-ca.crt as kube-controller-manager publishes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from talops.machineconfig.secrets import pem, pki
from talops.rotation.pods import Workload, changed_at, has_ca, holders

NOW = datetime.now(UTC)
OLD, NEW = pki.kubernetes_ca(NOW), pki.kubernetes_ca(NOW)
SINCE = {"default": datetime(2026, 1, 1, 12, tzinfo=UTC)}


def pod(name: str, started: str, owner: Any = None, **more: Any) -> Any:
    owners = [{"kind": owner[0], "name": owner[1]}] if owner else []
    sources = [{"serviceAccountToken": {}}, {"configMap": {"name": "kube-root-ca.crt"}}]
    return {
        "metadata": {"namespace": "default", "name": name, "ownerReferences": owners} | more,
        "spec": {"volumes": [{"projected": {"sources": sources}}]},
        "status": {"phase": "Running", "startTime": started},
    }


def test_older_pods_hold_the_old_ca() -> None:
    """By workload; newer pods, mirror pods, ended pods and pods without a token do not count."""
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    plain = pod("plain", "2026-01-01T11:00:00Z")
    plain["spec"]["volumes"] = []
    ended = pod("ended", "2026-01-01T11:00:00Z")
    ended["status"]["phase"] = "Succeeded"
    pods = [
        pod("web-1-a", "2026-01-01T11:00:00Z", ("ReplicaSet", "web-1")),
        pod("web-1-b", "2026-01-01T11:30:00Z", ("ReplicaSet", "web-1")),
        pod("web-1-c", "2026-01-01T12:00:01Z", ("ReplicaSet", "web-1")),
        pod("db-0", "2026-01-01T11:00:00Z", ("StatefulSet", "db")),
        pod("alone", "2026-01-01T11:00:00Z"),
        pod("static", "2026-01-01T11:00:00Z", **mirror),
        plain,
        ended,
    ]
    assert holders(pods, SINCE, {"default/web-1": "web"}) == {
        Workload("default", "Deployment", "web"): 2,
        Workload("default", "StatefulSet", "db"): 1,
        Workload("default", "Pod", "alone"): 1,
    }


def test_a_namespace_without_the_new_ca_has_old_pods_only() -> None:
    """However young they are."""
    assert holders([pod("a", "2026-01-01T13:00:00Z")], {}, {}).total() == 1


def test_when_the_new_ca_arrived() -> None:
    """The last write of the data decides, not one of a label."""
    text = pem.from_one_line(OLD.crt).decode() + pem.from_one_line(NEW.crt).decode()
    found = {
        "metadata": {
            "creationTimestamp": "2026-01-01T10:00:00Z",
            "managedFields": [
                {"time": "2026-01-01T12:00:00Z", "fieldsV1": {"f:data": {}}},
                {"time": "2026-01-01T14:00:00Z", "fieldsV1": {"f:metadata": {}}},
            ],
        },
        "data": {"ca.crt": text},
    }
    assert has_ca(found, NEW)
    assert not has_ca({**found, "data": {"ca.crt": text[:900]}}, NEW)
    assert changed_at(found) == datetime(2026, 1, 1, 12, tzinfo=UTC)

"""When an object is ready, by data."""

from __future__ import annotations

from typing import Any

import pytest

from talops.errors import TalopsError
from talops.kube.conditions import ready
from talops.waiting import NotYet, Ready


def obj(kind: str, status: Any = None, **spec: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": 2},
        "spec": spec,
        "status": status,
    }


def conditions(**kinds: str) -> dict[str, Any]:
    return {"conditions": [{"type": k, "status": v, "reason": "Because"} for k, v in kinds.items()]}


GOOD = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "observedGeneration": 2}


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (None, "does not exist yet"),
        (obj("ConfigMap"), None),
        ({**obj("ConfigMap"), "metadata": {"deletionTimestamp": "now"}}, "is being deleted"),
        (obj("Deployment", GOOD, replicas=2), None),
        (obj("Deployment", {**GOOD, "observedGeneration": 1}, replicas=2), "has not processed"),
        (obj("Deployment", {**GOOD, "availableReplicas": 1}, replicas=2), "1 of 2 replicas"),
        (obj("Deployment", {**GOOD, "replicas": 3}, replicas=2), "2 of 2 replicas available"),
        (obj("Deployment", conditions(Progressing="False")), "Because"),
        (obj("Deployment", {}, replicas=0), None),
        (obj("StatefulSet", {"readyReplicas": 1}, replicas=1), None),
        (obj("StatefulSet", {}), "0 of 1 replicas ready"),
        (obj("DaemonSet", {}), "not scheduled yet"),
        (
            obj("DaemonSet", {"desiredNumberScheduled": 2, "numberAvailable": 1}),
            "1 of 2 pods available",
        ),
        (obj("Job", conditions(Complete="True")), None),
        (obj("Job", {}), "no condition Complete yet"),
        (obj("Pod", {"phase": "Succeeded"}), None),
        (obj("Pod", {"phase": "Running", **conditions(Ready="True")}), None),
        (obj("Pod", {"phase": "Pending", **conditions(Ready="False")}), "Pending, Because"),
        (
            obj(
                "Pod",
                {
                    "phase": "Pending",
                    "containerStatuses": [
                        {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
                    ],
                },
            ),
            "c: ImagePullBackOff",
        ),
        (obj("Namespace", {"phase": "Active"}), None),
        (obj("Namespace", {"phase": "Terminating"}), "is Terminating"),
        (
            obj("CustomResourceDefinition", conditions(NamesAccepted="True", Established="True")),
            None,
        ),
        (obj("CustomResourceDefinition", {}), "no condition NamesAccepted yet"),
        (obj("Node", conditions(Ready="Unknown")), "Because"),
        (obj("Kustomization", {}), "no condition Ready yet"),
        (obj("Widget", conditions(Ready="False")), "Because"),
        (obj("Widget", {}), None),
    ],
)
def test_ready_or_why_not(thing: dict[str, Any] | None, reason: str | None) -> None:
    """Object in; Ready, or the reason in words."""
    outcome = ready(thing)
    if reason is None:
        assert isinstance(outcome, Ready)
    else:
        assert isinstance(outcome, NotYet)
        assert reason in outcome.reason


def test_a_failed_job_is_not_waited_for() -> None:
    """It will not become complete."""
    with pytest.raises(TalopsError, match="the job failed"):
        ready(obj("Job", conditions(Failed="True")))

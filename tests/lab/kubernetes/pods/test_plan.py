"""What a simulated pod does, as its manifest says."""

from __future__ import annotations

from typing import Any

import pytest

from talops.lab.kubernetes.pods.plan import Plan, claims, plan

START, STOP = 2.0, 1.0


def pod(restart: str = "Always", command: tuple[str, ...] = (), **notes: str) -> dict[str, Any]:
    annotations = {f"talops.lab/{key.replace('_', '-')}": text for key, text in notes.items()}
    container = {"name": "main", "image": "app:1", "command": list(command)}
    return {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": restart, "containers": [container]},
    }


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pod(), Plan(START, STOP)),
        (pod(ready_after="7", stops_after="30"), Plan(7.0, 30.0)),
        (pod(ready_after="never"), Plan(None, STOP)),
        (pod("Never"), Plan(START, STOP, runs_for=START)),
        (pod("OnFailure", runs_for="9"), Plan(START, STOP, runs_for=9.0)),
        (pod("Never", ("/bin/false",)), Plan(START, STOP, START, exit_code=1)),
        (pod("Never", ("sh", "-c", "echo no; exit 3")), Plan(START, STOP, START, exit_code=3)),
        (pod("Never", ("true",), exit_code="4"), Plan(START, STOP, START, exit_code=4)),
        (pod(runs_for="5"), Plan(START, STOP)),  # its kubelet would start it again
    ],
)
def test_plan(given: dict[str, Any], wanted: Plan) -> None:
    """Pods that say nothing take the usual time; those of Jobs end without a signal."""
    assert plan(given, start=START, stop=STOP) == wanted


def test_claims() -> None:
    """Only volumes of claims have to be attached."""
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    assert claims({"spec": {"volumes": volumes}}) == ("data-db-0",)
    assert claims({"spec": {}}) == ()

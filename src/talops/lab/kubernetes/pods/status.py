"""The status of a pod, as a kubelet reports it to the API server."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import Any

Pod = dict[str, Any]
# Reason and message of the kubelet's shutdown manager (pkg/kubelet/nodeshutdown).
SHUTDOWN = ("Terminated", "Pod was terminated in response to imminent node shutdown.")
_KILLED = 137  # 128 + SIGKILL: containers that a power cut or a shutdown ended


@dataclass(frozen=True)
class Containers:
    """The containers of one pod on one node."""

    host: str  # address of the node
    address: str  # of the pod
    started: str
    ready: bool = False
    restarts: int = 0


def now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(pod: Pod, found: Containers) -> dict[str, Any]:
    state = {"running": {"startedAt": found.started}}
    return _status(pod, found, "Running", found.ready, state, "ContainersNotReady")


def finished(pod: Pod, found: Containers, exit_code: int) -> dict[str, Any]:
    """Its containers have ended without being stopped."""
    phase, reason = ("Failed", "PodFailed") if exit_code else ("Succeeded", "PodCompleted")
    word = "Error" if exit_code else "Completed"
    return _status(pod, found, phase, False, _ended(found, exit_code, word), reason)


def shut_down(pod: Pod, found: Containers) -> dict[str, Any]:
    """The node has stopped it because the node itself goes down."""
    reason, message = SHUTDOWN
    status = _status(pod, found, "Failed", False, _ended(found, _KILLED, "Error"), "PodFailed")
    target = _condition("DisruptionTarget", "True", "TerminationByKubelet")
    conditions = [*status["conditions"], {**target, "message": message}]
    return {**status, "reason": reason, "message": message, "conditions": conditions}


def _ended(found: Containers, exit_code: int, reason: str) -> dict[str, Any]:
    times = {"startedAt": found.started, "finishedAt": now()}
    return {"terminated": {"exitCode": exit_code, "reason": reason, **times}}


def _status(
    pod: Pod, found: Containers, phase: str, ready: bool, state: dict[str, Any], reason: str
) -> dict[str, Any]:
    """`reason` is why it is not ready."""
    why = "" if ready else reason
    return {
        "phase": phase,
        "hostIP": found.host,
        "hostIPs": [{"ip": found.host}],
        "podIP": found.address,
        "podIPs": [{"ip": found.address}],
        "startTime": found.started,
        "conditions": [
            _condition("PodReadyToStartContainers", "True", ""),
            _condition("Initialized", "True", ""),
            _condition("Ready", str(ready), why),
            _condition("ContainersReady", str(ready), why),
        ],
        "containerStatuses": [_container(pod, c, found, state) for c in pod["spec"]["containers"]],
    }


def _container(
    pod: Pod, container: dict[str, Any], found: Containers, state: dict[str, Any]
) -> dict[str, Any]:
    text = f"{pod['metadata']['uid']}/{container['name']}/{found.restarts}"
    image = container["image"]
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"{image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}",
        "containerID": f"containerd://{hashlib.sha256(text.encode()).hexdigest()}",
        "ready": found.ready and "running" in state,
        "started": "running" in state,
        "restartCount": found.restarts,
        "state": state,
    }


def _condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": now()}

"""Whether an object is ready, and if not, why; pure functions of the object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube import shapes
from talops.shapes import misfit
from talops.waiting import NotYet, Ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.kube.objects import Object

    Judge = Callable[[Object | None], Ready[Object] | NotYet]


def ready(obj: Object | None) -> Ready[Object] | NotYet:
    """Judge by the rule of the kind; other kinds by their Ready condition, if they have one."""
    if obj is None:
        return NotYet("does not exist yet")
    if obj["metadata"].get("deletionTimestamp"):
        return NotYet("is being deleted")
    status = obj.get("status") or {}
    seen = status.get("observedGeneration")
    if seen is not None and seen < obj["metadata"].get("generation", 0):
        return NotYet("the controller has not processed the last change yet")
    rule = _RULES.get(obj["kind"], _by_condition)
    reason = rule(obj)
    return NotYet(reason) if reason else Ready(obj)


def condition(obj: Object, kind: str) -> str:
    """'' if the condition is True, otherwise the reason."""
    for entry in _conditions(obj):
        if entry["type"] == kind:
            if entry["status"] == "True":
                return ""
            words = [entry.get("reason") or f"{kind} is {entry['status']}", entry.get("message")]
            return ": ".join(word for word in words if word)
    return f"no condition {kind} yet"


def _conditions(obj: Object) -> list[Object]:
    """Those of the usual form; kinds that talops does not know may have others."""
    found = (obj.get("status") or {}).get("conditions")
    every = found if isinstance(found, list) else []
    return [entry for entry in every if not misfit(entry, shapes.CONDITION)]


def _by_condition(obj: Object) -> str:
    kinds = [entry["type"] for entry in _conditions(obj)]
    return condition(obj, "Ready") if "Ready" in kinds else ""


def _deployment(obj: Object) -> str:
    wanted, status = obj["spec"].get("replicas", 1), obj.get("status") or {}
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated >= wanted and available >= wanted and status.get("replicas", 0) <= updated:
        return ""
    failure = condition(obj, "Progressing")
    why = f"; {failure}" if failure and "no condition" not in failure else ""
    return f"{available} of {wanted} replicas available, {updated} updated{why}"


def _stateful_set(obj: Object) -> str:
    wanted, status = obj["spec"].get("replicas", 1), obj.get("status") or {}
    have = status.get("readyReplicas", 0)
    return "" if have >= wanted else f"{have} of {wanted} replicas ready"


def _daemon_set(obj: Object) -> str:
    status = obj.get("status") or {}
    if "desiredNumberScheduled" not in status:
        return "not scheduled yet"
    wanted, have = status["desiredNumberScheduled"], status.get("numberAvailable", 0)
    updated = status.get("updatedNumberScheduled", 0)
    if have >= wanted and updated >= wanted:
        return ""
    return f"{have} of {wanted} pods available, {updated} updated"


def _job(obj: Object) -> str:
    if not condition(obj, "Failed"):
        name = obj["metadata"]["name"]
        raise TalopsError("the job failed", where=f"Job {name}", hint=f"kubectl logs job/{name}")
    return condition(obj, "Complete")


def _pod(obj: Object) -> str:
    phase = (obj.get("status") or {}).get("phase", "Unknown")
    if phase == "Succeeded":
        return ""
    waiting = [
        f"{entry['name']}: {entry['state']['waiting'].get('reason', 'waiting')}"
        for entry in (obj.get("status") or {}).get("containerStatuses") or []
        if "waiting" in (entry.get("state") or {})
    ]
    return "; ".join(waiting) or (condition(obj, "Ready") and f"{phase}, {condition(obj, 'Ready')}")


def _namespace(obj: Object) -> str:
    phase = (obj.get("status") or {}).get("phase", "Unknown")
    return "" if phase == "Active" else f"is {phase}"


def _crd(obj: Object) -> str:
    return condition(obj, "NamesAccepted") or condition(obj, "Established")


def _node(obj: Object) -> str:
    return condition(obj, "Ready")


_RULES: dict[str, Callable[[Object], str]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "Pod": _pod,
    "Namespace": _namespace,
    "CustomResourceDefinition": _crd,
    "Node": _node,
    "APIService": lambda obj: condition(obj, "Available"),
    "GitRepository": lambda obj: condition(obj, "Ready"),
    "Kustomization": lambda obj: condition(obj, "Ready"),
    "HelmRelease": lambda obj: condition(obj, "Ready"),
}

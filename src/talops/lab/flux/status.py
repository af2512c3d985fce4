"""Conditions as Flux' controllers write them; unchanged ones are not written again."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]
REQUESTED = "reconcile.fluxcd.io/requestedAt"


async def report(
    api: KubeApi, path: str, obj: Object, manager: str, failure: str, message: str, **more: Any
) -> None:
    """`failure` is the reason of Ready=False; empty means success."""
    old = obj.get("status") or {}
    generation = obj["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": "False" if failure else "True",
        "reason": failure or ("ReconciliationSucceeded" if "inventory" in more else "Succeeded"),
        "message": message,
        "observedGeneration": generation,
    }
    asked = (obj["metadata"].get("annotations") or {}).get(REQUESTED)
    status = {
        **{k: v for k, v in old.items() if k != "conditions"},
        "observedGeneration": generation,
        **({"lastHandledReconcileAt": asked} if asked else {}),
        **more,
    }
    before = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in _ready(old)]
    if before == [condition] and status == {k: v for k, v in old.items() if k != "conditions"}:
        return
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status["conditions"] = [{**condition, "lastTransitionTime": now}]
    body = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": _name(obj)}
    await api.apply(f"{path}/status", {**body, "status": status}, manager=manager)


def due(obj: Object) -> bool:
    """Changed, asked for, or not successful the last time."""
    status = obj.get("status") or {}
    if status.get("observedGeneration") != obj["metadata"]["generation"]:
        return True
    asked = (obj["metadata"].get("annotations") or {}).get(REQUESTED)
    if asked and asked != status.get("lastHandledReconcileAt"):
        return True
    return not any(c["status"] == "True" for c in _ready(status))


def _ready(status: Object) -> list[Object]:
    return [c for c in status.get("conditions") or [] if c["type"] == "Ready"]


def _name(obj: Object) -> Object:
    return {"name": obj["metadata"]["name"], "namespace": obj["metadata"]["namespace"]}


FINALIZER = "finalizers.fluxcd.io"


async def hold(api: KubeApi, path: str, obj: Object, manager: str) -> None:
    """Like the real controllers: an update of the object itself, before the first work on it."""
    held = obj["metadata"].get("finalizers") or []
    if FINALIZER not in held:
        await api.merge(f"{path}?fieldManager={manager}", _finalizers([*held, FINALIZER]))


async def let_go(api: KubeApi, path: str, obj: Object, manager: str) -> None:
    held = [name for name in obj["metadata"].get("finalizers") or [] if name != FINALIZER]
    await api.merge(f"{path}?fieldManager={manager}", _finalizers(held))


def _finalizers(names: list[str]) -> Object:
    return {"metadata": {"finalizers": names}}

"""Drain a node with evictions, so that PodDisruptionBudgets are respected."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, WaitTimeoutError
from talops.kube.answers import NotFoundError
from talops.kube.objects import Object, Ref
from talops.kube.waits import wait_gone
from talops.waiting import NotYet, Ready, Waiting, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from talops.kube.client import KubeClient

MIRROR = "kubernetes.io/config.mirror"


@dataclass(frozen=True)
class DrainOptions:
    # For all pods together, from the first eviction to the last deletion.
    timeout: float = 300.0
    # Also evict pods without a controller.
    delete_unmanaged: bool = False
    # Also evict pods with local data.
    delete_local_data: bool = True
    interval: float = 1.0


@dataclass(frozen=True)
class DrainPlan:
    """The pods to evict, the pods that stay and why, and the pods that block the drain."""

    evict: tuple[Object, ...]
    stay: dict[str, str]
    refused: dict[str, str]


def plan_drain(pods: Iterable[Object], options: DrainOptions) -> DrainPlan:
    evict: list[Object] = []
    stay: dict[str, str] = {}
    refused: dict[str, str] = {}
    for pod in pods:
        meta = pod["metadata"]
        name = f"{meta['namespace']}/{meta['name']}"
        if reason := _stays(pod):
            stay[name] = reason
        elif reason := _refused(pod, options):
            refused[name] = reason
        else:
            evict.append(pod)
    return DrainPlan(tuple(evict), stay, refused)


async def cordon(client: KubeClient, node: str, *, on: bool = True) -> None:
    """Mark the node unschedulable; with `on=False`, schedulable again."""
    await client.merge(Ref("v1", "Node", node), {"spec": {"unschedulable": on or None}})


async def drain(
    client: KubeClient,
    node: str,
    options: DrainOptions | None = None,
    report: Callable[[Waiting], None] = lambda _: None,
) -> DrainPlan:
    """Cordon, evict, wait until the pods are deleted. Changes nothing if a pod blocks the drain."""
    options = options or DrainOptions()
    await _plan(client, node, options)
    await cordon(client, node)
    plan = await _plan(client, node, options)
    until = time.monotonic() + options.timeout
    evictions = (_evict(client, pod, options, until, report) for pod in plan.evict)
    # All of them end before this does, and the error names every pod that stays.
    outcomes = await asyncio.gather(*evictions, return_exceptions=True)
    _raise_all(node, [outcome for outcome in outcomes if outcome is not None], options)
    return plan


def _raise_all(node: str, failures: list[BaseException], options: DrainOptions) -> None:
    for failure in failures:
        if not isinstance(failure, WaitTimeoutError):
            raise failure
    timeouts = [failure for failure in failures if isinstance(failure, WaitTimeoutError)]
    if timeouts:
        reasons = "; ".join(sorted(failure.what for failure in timeouts))
        raise WaitTimeoutError(
            f"not drained within {options.timeout:.0f} s: {reasons}",
            where=f"node {node}",
            hint=timeouts[0].hint,
        )


async def _plan(client: KubeClient, node: str, options: DrainOptions) -> DrainPlan:
    pods = await client.list_all("v1", "Pod", fields=f"spec.nodeName={node}")
    plan = plan_drain(pods, options)
    if plan.refused:
        reasons = "; ".join(f"{name} {why}" for name, why in plan.refused.items())
        raise ConflictError(
            f"cannot drain: {reasons}",
            where=f"node {node}",
            hint="move or delete these pods first, or drain with --force",
        )
    return plan


async def _evict(
    client: KubeClient,
    pod: Object,
    options: DrainOptions,
    until: float,
    report: Callable[[Waiting], None],
) -> None:
    ref, uid = Ref.of(pod), pod["metadata"]["uid"]

    async def probe() -> Ready[None] | NotYet:
        try:
            await client.create(ref, _eviction(pod), subresource="eviction")
        except NotReadyError as error:  # 429: a PodDisruptionBudget blocks the eviction for now
            return NotYet(error.what)
        except (NotFoundError, ConflictError):  # deleted, or replaced by another pod with that name
            pass
        return Ready(None)

    await wait_for(
        f"eviction of {ref}",
        probe,
        timeout=max(0.0, until - time.monotonic()),
        interval=options.interval,
        report=report,
        hint=f"kubectl get poddisruptionbudgets -n {ref.namespace}",
    )
    left = max(0.0, until - time.monotonic())
    await wait_gone(client, ref, timeout=left, uid=uid, interval=options.interval, report=report)


def _eviction(pod: Object) -> Object:
    meta = pod["metadata"]
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
    }


def _stays(pod: Object) -> str:
    meta = pod["metadata"]
    if MIRROR in (meta.get("annotations") or {}):
        return "is a static pod"
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return "has ended"
    return "belongs to a DaemonSet" if _controller(pod) == "DaemonSet" else ""


def _refused(pod: Object, options: DrainOptions) -> str:
    if not _controller(pod) and not options.delete_unmanaged:
        return "has no controller that would start it on another node"
    volumes = (pod.get("spec") or {}).get("volumes") or []
    if any("emptyDir" in volume for volume in volumes) and not options.delete_local_data:
        return "has local data that would be lost"
    return ""


def _controller(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or []
    return next((owner["kind"] for owner in owners if owner.get("controller")), "")

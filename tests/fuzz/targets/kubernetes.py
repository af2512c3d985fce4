"""Answers of an API server of wrong shapes, for every call and for what is decided from them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from tests.fuzz.targets.answers import Sent, Transport, damaged_answer

from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.conditions import ready
from talops.kube.drain import DrainOptions, drain
from talops.kube.kubeconfig import Kubeconfig
from talops.kube.objects import Ref
from talops.kube.waits import wait_gone, wait_ready
from talops.rolls import marks, volumes

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Iterator

    import httpx

META = {"name": "x", "namespace": "n", "uid": "u-1", "resourceVersion": "5", "generation": 2}
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "x-1",
    "uid": "u",
    "controller": True,
}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
NOT_READY = {"type": "Progressing", "status": "False", "reason": "No", "message": "stuck"}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {**META, "labels": {"a": "b"}, "annotations": {marks.ANNOTATION: '{"reason":"x"}'}},
    "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {
        "conditions": [READY, NOT_READY],
        "nodeInfo": {"kubeletVersion": "v1.36.3"},
        "allocatable": {"cpu": "4", "nvidia.com/gpu": "1"},
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {**META, "ownerReferences": [OWNER], "finalizers": ["f"]},
    "spec": {
        "nodeName": "x",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "e"}],
    },
    "status": {
        "phase": "Running",
        "conditions": [READY],
        "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
    },
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": META,
    "spec": {"replicas": 2},
    "status": {
        "observedGeneration": 2,
        "replicas": 2,
        "updatedReplicas": 1,
        "availableReplicas": 1,
        "conditions": [NOT_READY],
    },
}
ATTACHMENT = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "VolumeAttachment",
    "metadata": META,
    "spec": {"nodeName": "x", "attacher": "csi", "source": {"persistentVolumeName": "pv"}},
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": META,
    "spec": {"volumeName": "pv"},
}


def of(kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": META, **more}


OBJECTS: dict[str, Any] = {
    "nodes": NODE,
    "pods": POD,
    "deployments": DEPLOYMENT,
    "statefulsets": {**DEPLOYMENT, "kind": "StatefulSet"},
    "daemonsets": of("DaemonSet", status={"desiredNumberScheduled": 3, "numberAvailable": 2}),
    "jobs": of("Job", status={"conditions": [{"type": "Failed", "status": "True"}]}),
    "namespaces": of("Namespace", status={"phase": "Active"}),
    "widgets": of("Widget", status={"conditions": [READY], "observedGeneration": 1}),
    "secrets": of("Secret", data={"canary": "YQ=="}),
    "volumeattachments": ATTACHMENT,
    "persistentvolumeclaims": CLAIM,
}
GROUPS = {
    "v1": ("nodes", "pods", "namespaces", "widgets", "secrets", "persistentvolumeclaims"),
    "apps/v1": ("deployments", "statefulsets", "daemonsets"),
    "batch/v1": ("jobs",),
    "storage.k8s.io/v1": ("volumeattachments",),
}
GLOBAL = {"nodes", "namespaces", "volumeattachments"}
FAILURE = {
    "kind": "Status",
    "message": "Cannot evict pod",
    "details": {"causes": [{"message": "the budget x needs 1"}]},
    "code": 429,
}


def discovery(group: str) -> dict[str, Any]:
    rows = [
        {"name": name, "namespaced": name not in GLOBAL, "kind": OBJECTS[name]["kind"]}
        for name in GROUPS[group]
    ]
    return {"kind": "APIResourceList", "resources": [*rows, {**rows[0], "name": "pods/log"}]}


def group_of(name: str) -> str:
    return next(group for group, names in GROUPS.items() if name in names)


def right(request: httpx.Request) -> Any:
    """By the parts of the path; a collection is a page, a name an object."""
    parts = request.url.path.strip("/").split("/")
    if parts == ["version"]:
        return {"gitVersion": "v1.36.3", "major": "1"}
    if len(parts) < 2:
        return {}
    group = "/".join(parts[1:3]) if parts[0] == "apis" else parts[1]
    rest = parts[3:] if parts[0] == "apis" else parts[2:]
    if not rest:
        return discovery(group)
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    found = OBJECTS.get(rest[0], {})
    if len(rest) > 1:
        return found
    if "watch" in request.url.params:
        return {"type": "MODIFIED", "object": found}
    return {"kind": "List", "metadata": {"continue": ""}, "items": [found, found]}


def ref_of(name: str) -> Ref:
    return Ref(group_of(name), OBJECTS[name]["kind"], "x", None if name in GLOBAL else "n")


async def judged(client: KubeClient, name: str) -> Any:
    found = await client.get(ref_of(name))
    mark = marks.mark_of(found) if found and name == "nodes" else None
    return ready(found), mark


async def listed(client: KubeClient, name: str) -> Any:
    return [ready(o) for o in await client.list_all(group_of(name), OBJECTS[name]["kind"])]


async def watched(client: KubeClient, name: str) -> Any:
    kind = OBJECTS[name]["kind"]
    return [each async for each in client.watch(group_of(name), kind, since="1")]


async def applied(client: KubeClient, name: str) -> Any:
    found = await client.get(ref_of(name))
    return await client.would_change(OBJECTS[name], found), await client.merge(ref_of(name), {})


async def detached(client: KubeClient, _: str) -> Any:
    return await volumes.wait_detached(client, "x", timeout=0, interval=0, report=lambda _: None)


CALLS: dict[str, Callable[[KubeClient, str], Awaitable[Any]]] = {
    "judge": judged,
    "list": listed,
    "watch": watched,
    "apply": applied,
    "delete": lambda c, name: c.delete(ref_of(name)),
    "version": lambda c, _: c.version(),
    "checks": lambda c, _: c.failing_checks(),
    "wait": lambda c, name: wait_ready(c, ref_of(name), timeout=0),
    "gone": lambda c, name: wait_gone(c, ref_of(name), timeout=0, uid="u-1"),
    "drain": lambda c, _: drain(c, "x", DrainOptions(timeout=0, interval=0)),
    "detached": detached,
}


class Kubernetes:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._asked: dict[tuple[str, str], list[tuple[str, Any]]] = {}

    def close(self) -> None:
        self._loop.close()

    def make(self, rng: random.Random) -> tuple[str, str, str, Sent]:
        call, name = rng.choice(list(CALLS)), rng.choice(list(OBJECTS))
        path, document = rng.choice(self._answers(call, name))
        return call, name, path, damaged_answer(rng, document, FAILURE)

    def _answers(self, call: str, name: str) -> list[tuple[str, Any]]:
        """What a call reads of an API server that answers right: path and answer."""
        if (call, name) not in self._asked:
            transport = Transport(right)
            with contextlib.suppress(TalopsError):
                self._loop.run_until_complete(self._with(transport, call, name))
            found = {request.url.path: right(request) for request in transport.asked}
            self._asked[call, name] = sorted(found.items(), key=lambda each: each[0])
        return self._asked[call, name]

    def run(self, case: tuple[str, str, str, Sent]) -> Iterator[object]:
        call, name, path, sent = case
        coroutine = self._with(Transport(right, path, sent), call, name)
        return iter([self._loop.run_until_complete(coroutine)])

    async def _with(self, transport: Transport, call: str, name: str) -> object:
        async with KubeClient(Kubeconfig("https://k8s.test:6443", "x"), transport=transport) as c:
            return await CALLS[call](c, name)

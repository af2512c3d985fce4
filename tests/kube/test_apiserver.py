"""The client against a real kube-apiserver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import (
    ConflictError,
    DeniedError,
    TalopsError,
    UnreachableError,
    WaitTimeoutError,
)
from talops.kube.client import KubeClient
from talops.kube.drain import DrainOptions, cordon, drain
from talops.kube.objects import Object, Ref, read_manifest
from talops.kube.waits import apply_all, wait_gone, wait_ready

if TYPE_CHECKING:
    from talops.kube.kubeconfig import Kubeconfig
    from talops.waiting import Waiting

pytestmark = pytest.mark.slow

MANIFEST = """
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: widgets}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Namespace
metadata: {name: widgets}
"""


def config_map(name: str, **data: str) -> Object:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


async def test_a_manifest_is_applied_and_applied_again(kubeconfig: Kubeconfig) -> None:
    """Namespace and definition are waited for; a second run changes no resourceVersion."""
    objects = read_manifest(MANIFEST, "widgets.yaml")
    async with KubeClient(kubeconfig) as client:
        assert await client.get(Ref("example.org/v1", "Widget", "w", "widgets")) is None
        first = await apply_all(client, objects, timeout=60)
        again = await apply_all(client, objects, timeout=60)
        assert [o["metadata"]["uid"] for o in first] == [o["metadata"]["uid"] for o in again]
        widget = Ref.of(objects[-1])
        before = await client.get(widget)
        await client.apply(objects[-1])
        assert await client.get(widget) == before
        assert not await client.would_change(objects[-1], before)
        assert await client.would_change({**objects[-1], "spec": {"size": 4}}, before)
        assert await client.would_change(objects[-1], None)


async def test_fields_belong_to_their_manager(kubeconfig: Kubeconfig) -> None:
    """Without force, another manager's field is a conflict that names the manager."""
    async with KubeClient(kubeconfig) as client:
        await client.apply(config_map("owned", key="mine"))
        with pytest.raises(ConflictError, match="talops"):
            await client.apply(config_map("owned", key="theirs"), manager="flux", force=False)
        await client.apply(config_map("owned", other="theirs"), manager="flux", force=False)
        live = await client.get(Ref("v1", "ConfigMap", "owned", "default"))
        assert live
        assert live["data"] == {"key": "mine", "other": "theirs"}


async def test_a_watch_sees_what_happens_after(kubeconfig: Kubeconfig) -> None:
    """From the resourceVersion of a known object on."""
    async with KubeClient(kubeconfig) as client:
        start = await client.apply(config_map("watched", n="1"))
        ref = Ref.of(start)
        await client.apply(config_map("watched", n="2"))
        assert await client.delete(ref)
        await wait_gone(client, ref, timeout=30)
        seen: list[str] = []
        watch = client.watch(
            "v1",
            "ConfigMap",
            namespace="default",
            since=start["metadata"]["resourceVersion"],
            fields="metadata.name=watched",
            seconds=60,
        )
        async for kind, _ in watch:
            seen.append(kind)
            if kind == "DELETED":
                break
        await watch.aclose()  # type: ignore[attr-defined]  # an async generator behind AsyncIterator
        assert seen == ["MODIFIED", "DELETED"]


async def test_the_version_and_who_may_ask(kubeconfig: Kubeconfig) -> None:
    """Without a certificate a client is anonymous; with another CA the server is not trusted."""
    async with KubeClient(kubeconfig) as client:
        assert (await client.version()).startswith("v1.")
        assert await client.failing_checks() == []
    anonymous = replace(kubeconfig, certificate=None, key=None)
    async with KubeClient(anonymous) as client:
        with pytest.raises(DeniedError):
            await client.list_all("v1", "Secret")
    async with KubeClient(replace(kubeconfig, ca=None)) as client:
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await client.version()


def node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str, node_name: str, **meta: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}, **meta},
        "spec": {
            "nodeName": node_name,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "example.org/none"}],
        },
    }


BUDGET: Object = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
}


async def owned_pod(client: KubeClient, name: str, node_name: str) -> Ref:
    """A pod with a controller, running as far as the API server knows."""
    owner = await client.apply(config_map(f"{name}-owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": f"{name}-owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    ref = Ref.of(await client.apply(pod(name, node_name, ownerReferences=[reference])))
    condition = {"type": "Ready", "status": "True"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    await client.merge(ref, status, subresource="status")
    await wait_ready(client, ref, timeout=30)
    return ref


async def test_a_drain_honours_the_budget(kubeconfig: Kubeconfig) -> None:
    """No eviction while the budget allows none; with room the pod goes and the node is cordoned."""
    reasons: list[str] = []

    def report(waiting: Waiting) -> None:
        reasons.append(waiting.reason)

    async with KubeClient(kubeconfig) as client:
        await client.apply(node("n1"))
        ref = await owned_pod(client, "web", "n1")
        budget = Ref.of(await client.apply(BUDGET))
        options = DrainOptions(timeout=0.5, interval=0.1)
        with pytest.raises(WaitTimeoutError, match="disruption budget"):
            await drain(client, "n1", options, report)
        assert await client.get(ref)
        assert await client.delete(budget)
        plan = await drain(client, "n1", DrainOptions(interval=0.1), report)
        assert [p["metadata"]["name"] for p in plan.evict] == ["web"]
        assert await client.get(ref) is None
        drained = await client.get(Ref("v1", "Node", "n1"))
        assert drained
        assert drained["spec"]["unschedulable"] is True
        await cordon(client, "n1", on=False)
        opened = await client.get(Ref("v1", "Node", "n1"))
        assert opened
        assert "unschedulable" not in opened["spec"]


async def test_a_pod_without_controller_stops_a_drain(kubeconfig: Kubeconfig) -> None:
    """Named, before the node is touched."""
    async with KubeClient(kubeconfig) as client:
        await client.apply(node("n2"))
        await client.apply(pod("alone", "n2"))
        with pytest.raises(TalopsError, match="default/alone has no controller"):
            await drain(client, "n2")
        untouched = await client.get(Ref("v1", "Node", "n2"))
        assert untouched
        assert "unschedulable" not in untouched["spec"]

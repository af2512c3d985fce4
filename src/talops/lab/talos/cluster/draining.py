"""How Talos drains its own node before a shutdown, a graceful reset and the old upgrade call.

As in its pkg/kubernetes and node_apply.go: what cannot be evicted is stopped with the node. A
reboot drains nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, NotReadyError, UnreachableError

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.talos.machine.settings import Timing

Object = dict[str, Any]
CORDONED = "talos.dev/cordoned"
_MIRROR = "kubernetes.io/config.mirror"
_GRACE = 60  # seconds, for every pod
_LIMIT, _LEAST = 300.0, 10.0
_RETRY, _POLL = 5.0, 0.2


async def drain(api: KubeApi, name: str, timing: Timing) -> None:
    """Cordon it, remembering who did, and evict what a controller will replace."""
    limit = max(timing.of(_LIMIT), _LEAST)
    with contextlib.suppress(TimeoutError, UnreachableError, NotReadyError, ConflictError):
        async with asyncio.timeout(limit):
            await _cordon(api, name)
            query = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}"
            listed = await api.get(query) or {"items": []}
            pods = [pod for pod in listed["items"] or () if _evictable(pod)]
            await asyncio.gather(*(_evict(api, pod, timing) for pod in pods))


async def uncordon(api: KubeApi, name: str) -> None:
    """A node that boots is schedulable again, unless another client has cordoned it."""
    node = await api.get(_path(name))
    if node is not None and CORDONED in (node["metadata"].get("annotations") or {}):
        body = {"metadata": {"annotations": {CORDONED: None}}, "spec": {"unschedulable": None}}
        await api.merge(_path(name), body)


async def _cordon(api: KubeApi, name: str) -> None:
    node = await api.get(_path(name))
    if node is not None and not node["spec"].get("unschedulable"):
        body = {"metadata": {"annotations": {CORDONED: "true"}}, "spec": {"unschedulable": True}}
        await api.merge(_path(name), body)


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def _evictable(pod: Object) -> bool:
    meta = pod["metadata"]
    if _MIRROR in (meta.get("annotations") or {}):
        return False
    owners = [o for o in meta.get("ownerReferences") or () if o.get("controller")]
    return bool(owners) and owners[0]["kind"] != "DaemonSet"


async def _evict(api: KubeApi, pod: Object, timing: Timing) -> None:
    """Until its budget allows it, and then until it does not exist any more."""
    meta = {key: pod["metadata"][key] for key in ("name", "namespace")}
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": meta,
        "deleteOptions": {"gracePeriodSeconds": _GRACE},
    }
    while True:
        try:
            await api.create(f"{path}/eviction", body)
        except NotReadyError:
            await asyncio.sleep(max(timing.of(_RETRY), _POLL))
            continue
        break
    uid = pod["metadata"]["uid"]
    while True:
        found = await api.get(path)
        if found is None or found["metadata"]["uid"] != uid:
            return
        await asyncio.sleep(_POLL)

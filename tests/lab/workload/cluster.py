"""Questions about a lab's Kubernetes that tests of workloads ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.lab.workload.manifests import NAMESPACE

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi

Object = dict[str, Any]


class Cluster:
    """As an administrator's kubectl."""

    def __init__(self, api: KubeApi) -> None:
        self.api = api

    async def pods(self, app: str = "") -> list[Object]:
        """Those that are not on their way out."""
        query = f"?labelSelector=app%3D{app}" if app else ""
        listed = await self.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods{query}")
        items: list[Object] = (listed or {}).get("items") or []
        return [pod for pod in items if "deletionTimestamp" not in pod["metadata"]]

    async def ready(self, app: str, count: int) -> bool:
        """Exactly so many pods, all ready."""
        found = await self.pods(app)
        return len(found) == count and all(is_ready(pod) for pod in found)

    async def places(self, app: str) -> list[str]:
        return sorted(pod["spec"].get("nodeName", "") for pod in await self.pods(app))

    async def attachments(self) -> list[Object]:
        listed = await self.api.get("/apis/storage.k8s.io/v1/volumeattachments") or {}
        return list(listed.get("items") or [])

    async def node(self, name: str) -> Object:
        return await self.api.get(f"/api/v1/nodes/{name}") or {}

    async def cordon(self, name: str, *, on: bool = True) -> None:
        body = {"spec": {"unschedulable": on or None}}
        await self.api.merge(f"/api/v1/nodes/{name}", body)

    async def evict(self, pod: Object) -> str:
        """Empty, or why it was refused."""
        meta = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        try:
            await self.api.create(path, body)
        except TalopsError as error:
            return str(error)
        return ""


def is_ready(obj: Object) -> bool:
    conditions = obj.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def ready_word(node: Object) -> str:
    conditions = node.get("status", {}).get("conditions", [])
    return str(next((c["status"] for c in conditions if c["type"] == "Ready"), None))

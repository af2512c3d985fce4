"""Volumes of drained pods must be detached before the node stops.

A restart with kexec is faster than the attach-detach controller: the volume then stays in the
node's volumesInUse, and its next pod fails with Multi-Attach errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.waiting import Waiting


def attached_to(attachments: Iterable[Object], node: str, used: Collection[str]) -> list[str]:
    """Names of persistent volumes that are still attached here, except those in use."""
    found = []
    for attachment in attachments:
        spec = attachment["spec"]
        name = (spec.get("source") or {}).get("persistentVolumeName") or ""
        if spec.get("nodeName") == node and name not in used:
            found.append(name or attachment["metadata"]["name"])
    return sorted(found)


async def wait_detached(
    client: KubeClient,
    node: str,
    *,
    timeout: float,  # noqa: ASYNC109  (as in wait_for: the error carries the last reason)
    interval: float,
    report: Callable[[Waiting], None],
) -> None:
    """Wait for volumes of evicted pods; pods that stay keep theirs."""

    async def probe() -> Ready[None] | NotYet:
        attachments = await client.list_all("storage.k8s.io/v1", "VolumeAttachment")
        if not any(a["spec"].get("nodeName") == node for a in attachments):
            return Ready(None)
        left = attached_to(attachments, node, await _in_use(client, node))
        return NotYet(f"attached: {', '.join(left)}") if left else Ready(None)

    await wait_for(
        f"volumes of {node} to be detached",
        probe,
        timeout=timeout,
        interval=interval,
        report=report,
        hint="kubectl get volumeattachments; then: talops up",
    )


async def _in_use(client: KubeClient, node: str) -> set[str]:
    """Persistent volumes of the pods that are still on this node."""
    pods = await client.list_all("v1", "Pod", fields=f"spec.nodeName={node}")
    claims = {(p["metadata"]["namespace"], name) for p in pods for name in _claims_of(p)}
    if not claims:
        return set()
    volumes = await client.list_all("v1", "PersistentVolumeClaim")
    return {
        str((c.get("spec") or {}).get("volumeName"))
        for c in volumes
        if (c["metadata"]["namespace"], c["metadata"]["name"]) in claims
    }


def _claims_of(pod: Object) -> list[str]:
    """Claims that the pod names; a generic ephemeral volume has one named after pod and volume."""
    found = []
    for volume in (pod.get("spec") or {}).get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found

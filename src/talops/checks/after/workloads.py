"""Whether any controller turns objects into pods in this cluster.

A controller manager that ever ran has left a lease. Without one, the API can accept a Deployment or
a Flux object although nothing acts on it; checks then report "unproven".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.objects import Ref

if TYPE_CHECKING:
    from talops.kube.client import KubeClient

LEASE = Ref("coordination.k8s.io/v1", "Lease", "kube-controller-manager", "kube-system")
NO_CONTROLLERS = "no controller manager has ever run in this cluster, so no pod can start"


async def are_run(kube: KubeClient) -> bool:
    return await kube.get(LEASE) is not None

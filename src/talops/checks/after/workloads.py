"""Whether anything in this cluster turns objects into pods.

A controller manager that ever ran has left a lease. Without one, what a Deployment or a Flux
object does can be accepted by the API and still not be proven; checks say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.objects import Ref

if TYPE_CHECKING:
    from talops.kube.client import KubeClient

LEASE = Ref("coordination.k8s.io/v1", "Lease", "kube-controller-manager", "kube-system")
NO_CONTROLLERS = "no controller manager ever ran in this cluster, so no pod is made"


async def are_run(kube: KubeClient) -> bool:
    return await kube.get(LEASE) is not None

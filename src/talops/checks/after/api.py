"""The Kubernetes API answers through the kubeconfig and reports that it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections


async def look(connections: Connections) -> list[Finding]:
    async with connections.kube() as kube:
        return judge(kube.server, connections.site.cluster.endpoint, await kube.failing_checks())


def judge(server: str, endpoint: str, failing: Sequence[str]) -> list[Finding]:
    found = [failed(f"the API server's check {name} fails", where=server) for name in failing]
    if server != endpoint:
        what = f"the kubeconfig points to {server}, but the cluster's endpoint is {endpoint}"
        found.append(failed(what, hint="talops up --only kubeconfig", final=True))
    return found or [passed("the API is ready, as reached through the kubeconfig", where=server)]

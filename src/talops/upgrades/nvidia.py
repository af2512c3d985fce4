"""Talos 1.13 passes GPUs to pods by CDI: what the older way needed is removed first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.objects import Ref
from talops.upgrades.breaking import Breakage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.rolls.kube_access import KubeAccess

OLD = {
    Ref("apps/v1", "DaemonSet", "nvidia-device-plugin", "kube-system"): (
        "kubectl -n kube-system delete daemonset nvidia-device-plugin"
    ),
    Ref("node.k8s.io/v1", "RuntimeClass", "nvidia"): "kubectl delete runtimeclass nvidia",
}


async def leftovers(access: KubeAccess, nodes: Sequence[str]) -> list[Breakage]:
    async with access.open() as kube:
        found = {ref: command for ref, command in OLD.items() if await kube.get(ref) is not None}
    return [
        Breakage(
            ", ".join(nodes),
            f"{ref} is for Talos before 1.13, which passed GPUs to pods in another way",
            f"{command}; pods with GPUs start again after the upgrade",
        )
        for ref, command in found.items()
    ]

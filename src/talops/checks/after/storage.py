"""A storage class of the Proxmox CSI plugin exists, if the inventory enables the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import passed, skipped, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.kube.objects import Object
    from talops.pipeline.checks import Finding
    from talops.site.connections import Connections

PROVISIONER = "csi.proxmox.sinextra.dev"


async def look(connections: Connections) -> list[Finding]:
    if not connections.site.cluster.addons.proxmox_csi:
        return [skipped("the inventory enables no storage plugin")]
    async with connections.kube() as kube:
        return judge(await kube.list_all("storage.k8s.io/v1", "StorageClass"))


def judge(classes: Sequence[Object]) -> list[Finding]:
    names = [o["metadata"]["name"] for o in classes if o.get("provisioner") == PROVISIONER]
    if names:
        return [passed(f"storage class {', '.join(names)}")]
    # talops creates the plugin's credentials; Flux deploys the plugin and its storage classes.
    return [warning(f"no storage class uses {PROVISIONER} yet", hint="kubectl get storageclass")]

"""Settings that Talos 1.14 moved out of `machine`, and its defaults for new clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.documents import nvidia
from talops.machineconfig.documents.disk_match import expression
from talops.machineconfig.documents.document import document

if TYPE_CHECKING:
    from talops.machineconfig.request import NodeRequest
    from talops.machineconfig.secrets.bundle import Bundle

DISCOVERY_SERVICE = "https://discovery.talos.dev/"
_A_WEEK = "168h0m0s"


def machine_documents(node: NodeRequest, bundle: Bundle) -> list[dict[str, Any]]:
    return [
        document("DiscoveryServiceConfig", name="default", endpoint=DISCOVERY_SERVICE),
        document(
            "DiscoveryIdentityConfig",
            clusterID=bundle.cluster_id,
            clusterSecret=bundle.cluster_secret.reveal(),
        ),
        document(
            "UnattendedInstallConfig",
            installer={"image": node.installer},
            provisioning={"diskSelector": {"match": expression(node.disk)}, "wipe": False},
        ),
        document("FilesystemTrimConfig", interval=_A_WEEK),
        document("SecurityProfileConfig", workloadIsolation=True),
        *(document("KernelModuleConfig", name=name) for name in nvidia.kernel_modules(node)),
    ]

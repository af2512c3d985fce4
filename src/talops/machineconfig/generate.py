"""One machine config per node: the generated documents merged with user patches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext
from talops.machineconfig.documents.beside import other_documents
from talops.machineconfig.documents.kubernetes import kubernetes_documents
from talops.machineconfig.documents.machine import machine_documents
from talops.machineconfig.documents.main import main_document
from talops.machineconfig.patches import shape as patch_shape
from talops.machineconfig.patches.reading import apply_patches

if TYPE_CHECKING:
    from talops.machineconfig.request import ClusterRequest, NodeRequest
    from talops.machineconfig.secrets.bundle import Bundle


@dataclass(frozen=True)
class MachineConfig:
    """The whole config of one node. Its repr hides the documents, because they contain keys."""

    node: str
    control_plane: bool
    documents: tuple[dict[str, Any], ...] = field(repr=False)

    def to_yaml(self) -> str:
        return yamltext.dump_all(self.documents)


def generate(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> MachineConfig:
    documents = [main_document(cluster, node, bundle)]
    if cluster.contract.splits_documents:
        documents += machine_documents(node, bundle)
        documents += kubernetes_documents(cluster, node, bundle)
    documents += other_documents(cluster, node)
    role = cluster.control_plane_patches if node.control_plane else cluster.worker_patches
    patches = [*cluster.patches, *role, *node.patches]
    patch_shape.check(documents, patches, cluster.contract)
    patched = apply_patches(documents, patches, cluster.contract)
    return MachineConfig(node.name, node.control_plane, tuple(patched))

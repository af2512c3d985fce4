"""What the configs of all nodes would be in a version of Kubernetes: its images, its arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.machineconfig.build import build_configs
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.kubernetes_images import images
from talops.site.patch_texts import patch_reader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.machineconfig.kubernetes_images import Images
    from talops.machineconfig.request import Patch
    from talops.site.site import Site


@dataclass(frozen=True)
class Targets:
    """`patches`: those of the inventory that apply to a node."""

    version: str
    configs: Mapping[str, MachineConfig]
    patches: Mapping[str, tuple[Patch, ...]]

    def images(self, node: Node) -> Images:
        return images(self.configs[node.name].documents)


async def targets(site: Site, version: str) -> Targets:
    """As the inventory with this version says, with the images of its patches."""
    bundle = await site.secrets.require()
    cluster = replace(site.cluster, kubernetes_version=version)
    read_patch = await patch_reader(cluster, site.root, site.sops)
    asked = requests(cluster, read_patch, bundle.contract)
    of_role = {True: asked.cluster.control_plane_patches, False: asked.cluster.worker_patches}
    patches = {
        node.name: (*asked.cluster.patches, *of_role[node.control_plane], *node.patches)
        for node in asked.nodes
    }
    return Targets(version, build_configs(cluster, bundle, read_patch), patches)

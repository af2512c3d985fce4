"""Small inventories for tests of what is made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.inventory.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster

HEAD = """\
cluster_name: home
talos_version: v1.13.9
kubernetes_version: v1.36.1
node_cidr: 10.0.0.0/24
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
repository_name: me/home
"""
PLAIN = "nodes:\n  - {name: cp-1, address: 10.0.0.11, controller: true}\n"
GPU = (
    PLAIN
    + """\
  - name: gpu-1
    address: 10.0.0.21
    controller: false
    gpus: ["0000:01:00.0"]
    extensions:
      - siderolabs/nvidia-open-gpu-kernel-modules-production
      - siderolabs/nvidia-container-toolkit-production
    kernel_modules: [nvidia, nvidia_uvm]
"""
)


def cluster(folder: Path, more: str, nodes: str = PLAIN) -> Cluster:
    (folder / "cluster.yaml").write_text(HEAD + more)
    (folder / "nodes.yaml").write_text(nodes)
    return load(folder).require()

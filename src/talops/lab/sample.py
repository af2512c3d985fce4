"""An inventory that fits a running lab: loopback addresses, its Proxmox, its Image Factory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

CA_FILE = "lab-ca.pem"
GITIGNORE = """\
age.key
kubeconfig
talosconfig
.talops/
talos/clusterconfig/
.terraform/
*.tfstate
*.tfstate.*
"""


@dataclass(frozen=True)
class LabInventory:
    name: str
    control_planes: int
    workers: int
    gpu_workers: int
    subnet: int

    def files(
        self, details: dict[str, Any], *, gitops: bool = False, truenas: bool = False
    ) -> dict[str, str]:
        """`gitops`: hand-over to the lab's own Git server."""
        network = IPv4Network(details["network"])
        cidr = IPv4Network((int(network.network_address) + (self.subnet << 8), 24))
        more = _releases(details) if "releases" in details else ""
        more += (_gitops(details) if gitops else "") + (_truenas(details) if truenas else "")
        return {
            "cluster.yaml": self._cluster(details, cidr) + more,
            "nodes.yaml": self._nodes(cidr),
            CA_FILE: Path(details["ca_file"]).read_text(encoding="utf-8"),
            ".gitignore": GITIGNORE,
        }

    def _cluster(self, details: dict[str, Any], cidr: IPv4Network) -> str:
        host = details["proxmox"]["hosts"][0]
        vip = f"cluster_api_addr: {cidr.network_address + 10}\n" if self.control_planes > 1 else ""
        gpu = _GPU.format(node=host["nodes"][0]) if self.gpu_workers else ""
        return f"""\
# A cluster in the embedded lab: all addresses are on loopback.
cluster_name: {self.name}
talos_version: v1.14.1
kubernetes_version: v1.36.1

node_cidr: {cidr}
{vip}
proxmox_api_url: {host["endpoint"].rstrip("/")}
proxmox_node: {host["nodes"][0]}
proxmox_ca_file: {CA_FILE}
{_factory(details)}
proxmox_vm_defaults:
  cores: 2
  memory: 4096
  disk_size: 32
{gpu}"""

    def _nodes(self, cidr: IPv4Network) -> str:
        entries = [
            *(("cp", 10 + i, i, "true", "") for i in range(1, self.control_planes + 1)),
            *(("w", 20 + i, i, "false", "") for i in range(1, self.workers + 1)),
            *(("gpu", 240 + i, i, "false", _GPU_NODE) for i in range(1, self.gpu_workers + 1)),
        ]
        rows = [
            f"  - name: {self.name}-{kind}-{number}\n"
            f"    address: {cidr.network_address + host}\n"
            f"    controller: {controller}\n"
            f"    vm_id: {100 + host}\n{extra}"
            for kind, host, number, controller, extra in entries
        ]
        return "nodes:\n" + "".join(rows)


def instead_of_the_internet(details: dict[str, Any]) -> str:
    """Lines of cluster.yaml: images and releases come from the lab."""
    return _factory(details) + (_releases(details) if "releases" in details else "")


def _factory(details: dict[str, Any]) -> str:
    return f"""\
image_factory_url: {details["factory"]["url"]}
image_factory_ca_file: {CA_FILE}
"""


def _releases(details: dict[str, Any]) -> str:
    """The lab's own mirror of releases, with the checksums of today's content."""
    pins = {
        name: {**entry, "ca_file": CA_FILE} for name, entry in sorted(details["releases"].items())
    }
    rows = "".join(f"  {name}: {json.dumps(entry)}\n" for name, entry in pins.items())
    return f"\nreleases:\n{rows}"


def _gitops(details: dict[str, Any]) -> str:
    return f"""
repository_name: lab/home
gitops:
  url: {details["git"]["url"]}
  ca_file: {CA_FILE}
"""


def _truenas(details: dict[str, Any]) -> str:
    nas = details["truenas"]
    return f"""
truenas:
  url: {nas["url"]}
  pool: {nas["pools"][0]}
  username: {nas["username"]}
  ca_file: {CA_FILE}
"""


_GPU = """
hypervisors:
  nodes:
    - name: {node}
  pci_mappings:
    - name: gpu0
      devices:
        - node: {node}
          path: "0000:01:00.0"
          id: "10de:2204"
          iommu_group: 14
          subsystem_id: "1458:403b"
"""
_GPU_NODE = """\
    gpus: [gpu0]
    extensions:
      - siderolabs/nvidia-open-gpu-kernel-modules-production
      - siderolabs/nvidia-container-toolkit-production
    kernel_modules: [nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset]
    labels: {example.com/gpu: "true"}
"""

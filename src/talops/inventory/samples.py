"""The files that `talops init` writes: valid, with comments for optional keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Network

GITIGNORE = """\
# Secrets and files that can be recreated; commit the inventory and the rendered files.
age.key
*.agekey
.talops/
talos/clusterconfig/
talos/talsecret.yaml
kubeconfig
talosconfig
.terraform/
*.tfstate
*.tfstate.*
*.tfplan
crash.log
"""


@dataclass(frozen=True)
class Answers:
    name: str
    cidr: IPv4Network
    control_planes: int
    workers: int
    talos_version: str
    kubernetes_version: str
    proxmox_url: str | None
    proxmox_node: str | None

    @property
    def vip(self) -> str | None:
        return str(self.cidr.network_address + 10) if self.control_planes > 1 else None


def cluster_text(answers: Answers) -> str:
    vip = f"cluster_api_addr: {answers.vip}" if answers.vip else "# cluster_api_addr: 10.0.0.10"
    proxmox = _proxmox_text(answers) if answers.proxmox_url else _METAL
    return f"""\
# yaml-language-server: $schema=.schema/cluster.schema.json
# The cluster. Check it with `talops check`; all keys: `talops schema cluster`.
cluster_name: {answers.name}

# https://github.com/siderolabs/talos/releases, and a Kubernetes version that it supports
talos_version: {answers.talos_version}
kubernetes_version: {answers.kubernetes_version}

# The network of the nodes. The default gateway is its first host.
node_cidr: {answers.cidr}
# node_default_gateway: {answers.cidr.network_address + 1}
# node_dns_servers: [1.1.1.1, 1.0.0.1]
# node_ntp_servers: [162.159.200.1, 162.159.200.123]
# node_vlan_tag: 20
# proxmox_vlan_mode: true     # Proxmox tags the VLAN; false: Talos creates the VLAN link

# The shared address of the Kubernetes API; required with multiple control planes.
{vip}
# cluster_api_tls_sans: [k8s.example.com]
# cluster_pod_cidr: 10.42.0.0/16
# cluster_svc_cidr: 10.43.0.0/16

# The Git repository that Flux syncs from.
# repository_name: owner/name
# repository_branch: main
# repository_visibility: private

{proxmox}
# Where OpenTofu stores its state: local, http or s3. See docs/state.md.
# state: local

# System extensions of every node; talops computes the schematic id from them.
# extensions: [siderolabs/qemu-guest-agent]
"""


def _proxmox_text(answers: Answers) -> str:
    return f"""\
# Proxmox. Do not store credentials here: talops secrets set proxmox_api_token_id …
proxmox_api_url: {answers.proxmox_url}
proxmox_node: {answers.proxmox_node}
# proxmox_insecure: false
# proxmox_ca_file: pve-ca.pem
# proxmox_iso_storage: local
# proxmox_disk_storage: local-lvm
# boot: iso                   # or image, template
# boot_network: static        # address from the nocloud drive; or dhcp
proxmox_vm_defaults:
  cores: 4
  sockets: 1
  memory: 8192                # MiB
  disk_size: 128              # GiB
# proxmox_vm_controller_defaults: {{cores: 2, memory: 4096}}
# proxmox_vm_worker_defaults: {{memory: 16384}}
# proxmox_vm_advanced: {{network_bridge: vmbr0, cpu_type: host}}
"""


_METAL = """\
# Bare metal: without these two keys, talops renders no OpenTofu files.
# proxmox_api_url: https://pve.example:8006
# proxmox_node: pve
"""


def nodes_text(answers: Answers) -> str:
    entries = [
        _node(answers, f"{answers.name}-cp-{i}", 10 + i, controller=True)
        for i in range(1, answers.control_planes + 1)
    ]
    entries += [
        _node(answers, f"{answers.name}-w-{i}", 20 + i, controller=False)
        for i in range(1, answers.workers + 1)
    ]
    return (
        "# yaml-language-server: $schema=.schema/nodes.schema.json\n"
        "# The nodes. All keys: `talops schema nodes`.\nnodes:\n" + "".join(entries)
    )


def _node(answers: Answers, name: str, host: int, *, controller: bool) -> str:
    text = f"""\
  - name: {name}
    address: {answers.cidr.network_address + host}
    controller: {"true" if controller else "false"}
"""
    if answers.proxmox_url:
        return text + f"    vm_id: {100 + host}\n"
    return text + (
        f"    mac_addr: aa:bb:cc:00:00:{host:02x}   # the MAC address of the NIC\n"
        "    disk: /dev/sda                # or a serial number\n"
    )

"""Inventories of other repositories, filled in, load unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.inventory.load import load
from talops.problems import Severity

if TYPE_CHECKING:
    from pathlib import Path

SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
# The keys of the sample of cluster-template (May 2026, the last one in YAML), filled in, with the
# three that its template contains itself.
CLUSTER_TEMPLATE = """\
---
cluster_name: kubernetes
talos_version: "1.13.9"
kubernetes_version: "1.36.4"
node_cidr: "192.168.1.0/24"
node_dns_servers: ["1.1.1.1", "1.0.0.1"]
node_ntp_servers: []
node_default_gateway: ""
node_vlan_tag: ""
cluster_api_addr: "192.168.1.100"
cluster_api_tls_sans: ["mycluster.example.com"]
cluster_pod_cidr: "10.42.0.0/16"
cluster_svc_cidr: ""
cluster_dns_gateway_addr: "192.168.1.101"
cluster_gateway_addr: "192.168.1.102"
repository_name: "me/home-ops"
repository_branch: "main"
repository_visibility: "public"
cloudflare_domain: "example.com"
cloudflare_token: "abc"
cloudflare_gateway_addr: "192.168.1.103"
cilium_loadbalancer_mode: "dsr"
cilium_bgp_router_addr: "192.168.1.1"
cilium_bgp_router_asn: "64513"
cilium_bgp_node_asn: "64514"
"""
# Keys of MatherlyNet's sample: those that day one refused, and one or more of every other kind.
MATHERLYNET = (
    CLUSTER_TEMPLATE.replace('node_vlan_tag: ""', 'node_vlan_tag: "20"')
    + """\
proxmox_vlan_mode: true
cilium_lb_pool_cidr: ""
cilium_bgp_hold_time: 30
network_policies_enabled: false
network_policies_mode: "audit"
unifi_host: "https://192.168.1.1"
proxmox_csi_enabled: true
proxmox_endpoint: "https://pve.example:8006/api2/json"
proxmox_csi_storage: "local-zfs"
proxmox_region: "pve"
proxmox_ccm_enabled: true
proxmox_api_url: "https://pve.example:8006"
proxmox_node: "pve"
proxmox_iso_storage: "local"
proxmox_disk_storage: "local-lvm"
monitoring_enabled: true
monitoring_stack: "prometheus"
hubble_enabled: true
hubble_ui_enabled: true
grafana_subdomain: "grafana"
metrics_retention: "7d"
storage_class: "local-path"
node_memory_threshold: 90
node_cpu_threshold: 90
loki_enabled: true
logs_retention: "7d"
tracing_sample_rate: 10
trace_retention: "72h"
observability_namespace: "monitoring"
environment: "production"
keycloak_enabled: true
keycloak_realm_roles:
  - name: admin
rustfs_enabled: true
external_secrets_provider: "1password"
onepassword_connect_host: "http://connect"
backup_s3_endpoint: "https://s3.example"
backup_age_public_key: "age1xyz"
cnpg_enabled: true
dragonfly_replicas: 1
oidc_provider_name: "keycloak"
oidc_scopes: [openid]
google_idp_enabled: false
github_idp_enabled: false
microsoft_tenant_id: "common"
litellm_enabled: false
azure_openai_us_east_api_version: "2025-01-01-preview"
langfuse_enabled: false
obot_enabled: false
mcp_context_forge_enabled: false
headlamp_enabled: true
volsync_enabled: true
kubernetes_oidc_enabled: false
proxmox_vm_defaults: {cores: 4, sockets: 1, memory: 8192, disk_size: 128}
proxmox_vm_controller_defaults: {cores: "4", memory: "8192", disk_size: 64}
proxmox_vm_worker_defaults: {cores: 8, memory: 16384, disk_size: 256}
proxmox_vm_advanced:
  bios: "ovmf"
  machine: "q35"
  cpu_type: "host"
  scsi_hw: "virtio-scsi-pci"
  balloon: 0
  numa: true
  qemu_agent: true
  net_queues: 4
  disk_discard: true
  disk_ssd: true
  tags: ["kubernetes", "linux", "talos"]
  network_bridge: "vmbr0"
  ostype: "l26"
  disk_backup: false
  disk_replicate: false
"""
)
NODES = """\
---
nodes:
""" + "".join(
    f"""\
  - name: "k8s-cp-{i}"
    vm_id: {100 + i}
    address: "192.168.1.{9 + i}"
    controller: true
    disk: "{disk}"
    mac_addr: "aa:bb:cc:dd:ee:0{i}"
    schematic_id: "{SCHEMATIC}"
    mtu: 1500
    kernel_modules: []
"""
    for i, disk in ((1, "/dev/sda"), (2, "S4EVNF0M123456"), (3, "/dev/sda"))
)
BARE = "".join(line for line in NODES.splitlines(keepends=True) if "vm_id" not in line)


@pytest.mark.parametrize(
    ("cluster", "nodes"),
    [(CLUSTER_TEMPLATE, BARE), (MATHERLYNET, NODES)],
    ids=["cluster-template", "MatherlyNet"],
)
def test_existing_inventories_load(tmp_path: Path, cluster: str, nodes: str) -> None:
    """No errors, and one note about the keys that talops does not act on."""
    (tmp_path / "cluster.yaml").write_text(cluster, encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(nodes, encoding="utf-8")
    loaded = load(tmp_path)
    assert [str(p) for p in loaded.problems if p.severity is Severity.ERROR] == []
    assert len([p for p in loaded.problems if p.rule == "foreign-keys"]) == 1
    assert loaded.cluster is not None
    assert loaded.cluster.cni.name == "flannel"


def test_hardware_of_existing_inventories_is_a_setting(tmp_path: Path) -> None:
    """The three keys that had no effect reach OpenTofu."""
    from talops.render.values import platform_values

    (tmp_path / "cluster.yaml").write_text(MATHERLYNET, encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(NODES, encoding="utf-8")
    cluster = load(tmp_path).require()
    assert cluster.proxmox
    hardware = platform_values(cluster, cluster.proxmox)["hardware"]
    assert (hardware["os_type"], hardware["disk_backup"]) == ("l26", False)
    assert hardware["disk_replicate"] is False
    assert (cluster.network.vlan, hardware["vlan_id"]) == (20, 20)

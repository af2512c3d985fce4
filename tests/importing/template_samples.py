"""Repositories in the shape of cluster-template: cluster.toml and the talos/ that it renders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.importing import talhelper_samples, topf_samples

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

_TOML = """\
[network]
node_cidr = "10.70.0.0/24"
dns_servers = ["10.70.0.1"]
{vlan}
[kubernetes.api]
addr = "{api}"
tls_sans = ["k.example.com"]

[gateways]
internal = "10.70.0.102"
dns = "10.70.0.101"
external = "10.70.0.103"

[repository]
url = "{url}"
branch = "trunk"
known_hosts = \"\"\"
git.example.com ssh-ed25519 AAAA
\"\"\"

[domain]
name = "example.com"

[dns]
token = "abc"

[talos]
schematic_id = ""

"""
_TOML_NODE = """\
[[nodes]]
name = "{name}"
address = "10.70.0.{last}"
controller = {controller}
disk = "{disk}"
mac_addr = "aa:bb:cc:00:07:{last}"
{more}
"""
_TOPF = """\
---
clusterName: kubernetes
clusterEndpoint: https://{api}:6443

# renovate: datasource=docker depName=ghcr.io/siderolabs/installer
talosVersion: v1.13.7
# renovate: datasource=docker depName=ghcr.io/siderolabs/kubelet
kubernetesVersion: v1.36.4

secretsPath: secrets.yaml

nodes:
"""
_TOPF_NODE = """\
  - host: "{name}"
    ip: "10.70.0.{last}"
    role: {role}
    schematicId: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
    secureboot: {secure}
    data:
      disk: "{disk}"
      macAddr: "aa:bb:cc:00:07:{last}"
      mtu: 1500
      encryptDisk: {secure}
      kernelModules: [{modules}]
"""
_LINKS = """\
---
apiVersion: v1alpha1
kind: LinkAliasConfig
name: ethSel0
selector:
  match: glob("{{ .Node.Data.macAddr }}", mac(link.hardware_addr))
---
apiVersion: v1alpha1
kind: BondConfig
name: bond0
links: [ethSel0]
bondMode: active-backup
mtu: {{ .Node.Data.mtu }}
%s
addresses:
  - address: "{{ .Node.IP }}/24"
routes:
  - gateway: "10.70.0.1"
{{- if eq .Node.Role "control-plane" }}
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
link: %s
name: "10.70.0.100"
{{- end }}
"""
_VLAN = """\
---
apiVersion: v1alpha1
kind: VLANConfig
name: bond0.70
parent: bond0
vlanID: 70
mtu: {{ .Node.Data.mtu }}"""
_PATCHES = {
    "talos/all/00-install.yaml.tpl": 'machine:\n  install:\n    disk: "{{ .Node.Data.disk }}"\n',
    "talos/all/01-hostname.yaml.tpl": topf_samples.HOSTNAME,
    "talos/all/10-cluster.yaml": """\
cluster:
  network:
    cni:
      name: none
    podSubnets: ["10.42.0.0/16"]
    serviceSubnets: ["10.43.0.0/16"]
machine:
  certSANs:
    - "127.0.0.1"
    - "10.70.0.100"
""",
    "talos/all/21-network.yaml": """\
machine:
  network:
    disableSearchDomain: true
    nameservers: [10.70.0.1]
""",
    "talos/all/22-time.yaml": "machine:\n  time:\n    disabled: false\n    servers: [10.70.0.1]\n",
    "talos/all/40-sysctls.yaml": """\
machine:
  sysctls:
    user.max_user_namespaces: "11255" # namespaces of users
  files:
    - op: create
      path: /etc/cri/conf.d/20-customization.part
      content: |
        [plugins."io.containerd.cri.v1.images"]
          discard_unpacked_layers = false
""",
    "talos/all/60-encryption.yaml.tpl": """\
{{- if .Node.Data.encryptDisk }}
# Encrypt system disk with TPM
machine:
  systemDiskEncryption:
    state: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
    ephemeral: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
{{- end }}
""",
    "talos/all/61-kernel-modules.yaml.tpl": """\
{{- if .Node.Data.kernelModules }}
machine:
  kernel:
    modules:
      {{- range .Node.Data.kernelModules }}
      - name: {{ . }}
      {{- end }}
{{- end }}
""",
    "talos/control-plane/00-cluster.yaml": """\
cluster:
  allowSchedulingOnControlPlanes: true
  apiServer:
    admissionControl:
      $patch: delete
    certSANs: ["127.0.0.1", "10.70.0.100"]
    extraArgs:
      enable-aggregator-routing: true
  coreDNS:
    disabled: true
  etcd:
    extraArgs:
      listen-metrics-urls: http://0.0.0.0:2381
    advertisedSubnets: [10.70.0.0/24]
  proxy:
    disabled: true
  scheduler:
    config:
      profiles:
        - schedulerName: default-scheduler
""",
}
_NODES = {
    "single": (("k8s-0", 10, True, False),),
    "ha": (
        ("k8s-0", 10, True, False),
        ("k8s-1", 11, True, False),
        ("k8s-2", 12, True, False),
        ("k8s-3", 13, False, False),
    ),
    "gpu": (("k8s-0", 10, True, True), ("k8s-1", 11, False, True)),
}
SAMPLES = ("single", "ha", "gpu", "talhelper")


def files(size: str, bundle: Bundle) -> dict[str, str]:
    if size == "talhelper":
        return _of_talhelper(bundle)
    vlan = size == "ha"
    url = "ssh://git@github.com/me/home.git" if vlan else "https://git.example.com/me/home.git"
    head = _TOML.format(vlan="vlan_tag = 70" if vlan else "", api="10.70.0.100", url=url)
    toml, topf = head, _TOPF.format(api="10.70.0.100")
    for name, last, controller, gpu in _NODES[size]:
        given = {"name": name, "last": last, "disk": "/dev/nvme0n1"}
        modules = "nvidia, nvidia_uvm" if gpu and not controller else ""
        toml += _TOML_NODE.format(
            controller=str(controller).lower(), more="secureboot = true" if gpu else "", **given
        )
        role = "control-plane" if controller else "worker"
        secure = str(gpu).lower()
        topf += _TOPF_NODE.format(role=role, secure=secure, modules=modules, **given)
    links = _LINKS % ((_VLAN, "bond0.70") if vlan else ("", "bond0"))
    return {
        **_PATCHES,
        "cluster.toml": toml,
        "talos/topf.yaml": topf,
        "talos/secrets.yaml": bundle.to_yaml(),
        "talos/all/20-network-links.yaml.tpl": links,
    }


def _of_talhelper(bundle: Bundle) -> dict[str, str]:
    """Descendants from before May 2026 render a talconfig.yaml, and some have VMs."""
    nodes = "".join(
        f"""\
  - name: {name}
    address: 10.30.0.{last}
    controller: {"true" if last < 20 else "false"}
    disk: /dev/sda
    vm_id: {last}0
    vm_cores: "4"
"""
        for name, last in (("cp-1", 11), ("cp-2", 12), ("cp-3", 13), ("w-1", 21), ("w-2", 22))
    )
    cluster = """\
node_cidr: 10.30.0.0/24
cluster_api_addr: 10.30.0.10
repository_name: me/home
cloudflare_domain: example.com
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
proxmox_vm_advanced: {network_bridge: vmbr1, ostype: l26}
"""
    rendered = talhelper_samples.files("ha", bundle)
    return {
        "cluster.yaml": cluster,
        "nodes.yaml": f"nodes:\n{nodes}",
        **{f"talos/{name}": text for name, text in rendered.items()},
    }

"""Sources in the shape of topf's: single node; HA; GPU and SecureBoot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

HOSTNAME = """\
apiVersion: v1alpha1
kind: HostnameConfig
auto: "off"
hostname: {{ .Node.Host }}
"""
LINK = """\
{{- /* one NIC, by its address */ -}}
---
apiVersion: v1alpha1
kind: LinkAliasConfig
name: net0
selector:
  match: mac(link.permanent_addr) == "{{ .Node.Data.mac | lower }}"
---
apiVersion: v1alpha1
kind: LinkConfig
name: net0
{{- if hasKey .Node.Data "mtu" }}
mtu: {{ .Node.Data.mtu }}
{{- end }}
addresses:
  - address: {{ .Node.IP }}/24
routes:
  - gateway: {{ .Data.gateway }}
"""
SINGLE = {
    "topf.yaml": """\
clusterName: one
clusterEndpoint: https://10.60.0.11:6443
kubernetesVersion: 1.35.9
talosVersion: 1.12.11
data: {gateway: 10.60.0.1}
nodes:
  - host: one
    ip: 10.60.0.11
    role: control-plane
    data: {mac: "AA:BB:CC:00:04:11"}
""",
    "all/00-install.yaml": "machine:\n  install:\n    disk: /dev/sda\n",
    "all/05-hostname.yaml.tpl": HOSTNAME,
    "all/10-link.yaml.tpl": LINK,
    "all/90-nothing.yaml": "# nothing yet\n",
    "control-plane/01-scheduling.yaml": "cluster:\n  allowSchedulingOnControlPlanes: true\n",
}
HA = {
    "topf.yaml": """\
clusterName: many
clusterEndpoint: https://10.61.0.10:6443
kubernetesVersion: v1.36.4
talosVersion: v1.13.9
schematicId: "@schematic.yaml"
patchesDir: patches
secretsPath: keys/secrets.yaml
data:
  gateway: 10.61.0.254
  vlan: 61
  registries: [docker.io, ghcr.io]
nodes:
"""
    + "".join(
        f"""\
  - host: {name}.farm.example.com
    ip: 10.61.0.{last}
    role: {role}
    data: {{mac: "aa:bb:cc:00:05:{last}", disk: /dev/disk/by-id/ata-{last}}}
"""
        for name, last, role in (
            ("cp-1", 11, "control-plane"),
            ("cp-2", 12, "control-plane"),
            ("cp-3", 13, "control-plane"),
            ("w-1", 21, "worker"),
            ("w-2", 22, "worker"),
        )
    ),
    "schematic.yaml": """\
customization:
  systemExtensions:
    officialExtensions: [siderolabs/iscsi-tools, siderolabs/util-linux-tools]
""",
    "patches/all/00-install.yaml.tpl": """\
machine:
  install:
    disk: {{ .Node.Data.disk | quote }}
""",
    "patches/all/05-hostname.yaml.tpl": HOSTNAME,
    "patches/all/10-link.yaml.tpl": """\
apiVersion: v1alpha1
kind: LinkAliasConfig
name: trunk
selector:
  match: glob("{{ .Node.Data.mac }}", mac(link.hardware_addr))
---
apiVersion: v1alpha1
kind: VLANConfig
name: trunk.{{ .Data.vlan }}
parent: trunk
vlanID: {{ .Data.vlan }}
addresses:
  - address: "{{ .Node.IP }}/24"
routes:
  - gateway: {{ .Data.gateway }}
{{- if eq .Node.Role "control-plane" }}
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
link: trunk.{{ .Data.vlan }}
name: 10.61.0.10
{{- end }}
""",
    "patches/all/20-mirrors.yaml.tpl": """\
{{- range $host := .Data.registries }}
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: {{ $host }}
endpoints:
  - url: https://mirror.example.com/{{ $host }}
{{- end }}
""",
    "patches/all/sub/30-kubelet.yaml": """\
machine:
  kubelet:
    extraConfig: {maxPods: 200}
  nodeLabels: {topology.kubernetes.io/region: north}
""",
    "patches/worker/10-disk.yaml": """\
apiVersion: v1alpha1
kind: UserVolumeConfig
name: data
provisioning:
  diskSelector: {match: disk.transport == "nvme"}
  minSize: 10GiB
""",
    "patches/node/w-2.farm.example.com/00-taint.yaml": """\
machine:
  nodeTaints: {dedicated: backups:NoSchedule}
""",
}
GPU = {
    "topf.yaml": """\
clusterName: dense
clusterEndpoint: https://10.62.0.11:6443
kubernetesVersion: 1.36.4
talosVersion: 1.13.9
secureboot: true
data: {gateway: 10.62.0.1}
nodes:
  - host: cp-1
    ip: 10.62.0.11
    role: control-plane
    data: {mac: "aa:bb:cc:00:06:11"}
  - host: gpu-1
    ip: 10.62.0.21
    role: worker
    schematicId: "@schematic.yaml.tpl"
    data: {mac: "aa:bb:cc:00:06:21", mtu: 9000, modules: [nvidia, nvidia_uvm]}
""",
    "schematic.yaml.tpl": """\
customization:
  systemExtensions:
    officialExtensions:
      - siderolabs/nonfree-kmod-nvidia-production
      {{- if eq .Node.Role "worker" }}
      - siderolabs/nvidia-container-toolkit-production
      {{- end }}
""",
    "all/00-install.yaml": """\
machine:
  install:
    diskSelector: {size: ">= 200GB", type: nvme}
""",
    "all/05-hostname.yaml.tpl": HOSTNAME,
    "all/10-link.yaml.tpl": LINK,
    "all/60-encryption.yaml": """\
apiVersion: v1alpha1
kind: VolumeConfig
name: STATE
encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
---
apiVersion: v1alpha1
kind: VolumeConfig
name: EPHEMERAL
encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
""",
    "worker/61-modules.yaml.tpl": """\
{{- if .Node.Data.modules }}
machine:
  kernel:
    modules:
      {{- range .Node.Data.modules }}
      - name: {{ . }}
      {{- end }}
{{- end }}
""",
}
SAMPLES = {"single": SINGLE, "ha": HA, "gpu": GPU}


def files(size: str, bundle: Bundle) -> dict[str, str]:
    place = "keys/secrets.yaml" if size == "ha" else "secrets.yaml"
    return {**SAMPLES[size], place: bundle.to_yaml()}

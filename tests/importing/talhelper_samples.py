"""Sources in the shape of talhelper's: single node; HA; GPU and SecureBoot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

SINGLE = {
    "talconfig.yaml": """\
---
# yaml-language-server: $schema=talconfig.json
clusterName: home
# renovate: depName=siderolabs/talos
talosVersion: v1.13.9
kubernetesVersion: v1.36.4
endpoint: https://10.20.0.11:6443
allowSchedulingOnControlPlanes: true
nodes:
  - hostname: solo
    ipAddress: 10.20.0.11
    controlPlane: true
    installDisk: /dev/nvme0n1
    nameservers: [10.20.0.1]
    networkInterfaces:
      - deviceSelector:
          hardwareAddr: aa:bb:cc:00:00:11
        dhcp: true
""",
}
_HA_NODE = """\
  - hostname: {name}
    ipAddress: 10.30.0.{last}
    controlPlane: {plane}
    installDiskSelector:
      serial: "DISK-{last}"
    networkInterfaces:
      - deviceSelector:
          hardwareAddr: aa:bb:cc:00:01:{last}
        mtu: 9000
        vlans:
          - vlanId: 40
            addresses: [10.30.0.{last}/24]
            mtu: 9000
            routes:
              - network: 0.0.0.0/0
                gateway: 10.30.0.254
            {vip}
    userVolumes:
      - name: data
        provisioning:
          diskSelector:
            match: disk.transport == "sata"
          minSize: 100GiB
        filesystem: {{type: xfs}}
"""
_PLANES = "".join(
    _HA_NODE.format(name=f"cp-{i}", last=10 + i, plane="true", vip="vip: {ip: 10.30.0.10}")
    for i in (1, 2, 3)
)
_WORKERS = "".join(
    _HA_NODE.format(name=f"w-{i}", last=20 + i, plane="false", vip="") for i in (1, 2)
)
HA = {
    "talconfig.yaml": f"""\
clusterName: "${{name}}"
talosVersion: v1.13.9
kubernetesVersion: v1.35.9
endpoint: https://api.${{domain}}:6443
additionalApiServerCertSans:
  - 10.30.0.10
  - api.${{domain}}
additionalMachineCertSans: [10.30.0.10]
clusterPodNets: [10.42.0.0/16]
clusterSvcNets: [10.43.0.0/16]
cniConfig:
  name: none
patches:
  - "@./patches/global.yaml"
  - |-
    machine:
      network:
        nameservers: [10.30.0.1]
nodes:
{_PLANES}{_WORKERS}controlPlane:
  nodeLabels:
    rack: left
  schematic:
    customization:
      systemExtensions:
        officialExtensions: [siderolabs/intel-ucode, siderolabs/iscsi-tools]
  ingressFirewall:
    defaultAction: block
    rules:
      - name: apid
        portSelector: {{ports: [50000], protocol: tcp}}
        ingress: [{{subnet: 10.30.0.0/24}}]
  patches:
    - |-
      cluster:
        proxy:
          disabled: true
        apiServer:
          extraArgs:
            feature-gates: ImageVolume=true
worker:
  nodeTaints:
    storage: only:NoSchedule
  machineFiles:
    - content: "@./files/cri.toml"
      permissions: 0o644
      path: /etc/cri/conf.d/20-customization.part
      op: create
""",
    "talenv.yaml": "name: farm\ndomain: farm.example.com\n",
    "patches/global.yaml": """\
machine:
  sysctls:
    fs.inotify.max_user_watches: "1048576"
  kubelet:
    extraMounts:
      - destination: /var/lib/longhorn
        type: bind
        source: /var/lib/longhorn
        options: [bind, rshared, rw]
---
apiVersion: v1alpha1
kind: WatchdogTimerConfig
device: /dev/watchdog0
timeout: 5m
""",
    "files/cri.toml": '[plugins."io.containerd.cri.v1.images"]\n',
}
GPU = {
    "talconfig.yaml": """\
clusterName: forge
talosVersion: v1.13.9
kubernetesVersion: v1.36.4
endpoint: https://10.40.0.11:6443
nodes:
  - hostname: cp-1
    ipAddress: 10.40.0.11
    controlPlane: true
    installDisk: /dev/sda
    networkInterfaces:
      - interface: enp1s0
        deviceSelector: {permanentAddr: "aa:bb:cc:00:02:11"}
        addresses: [10.40.0.11/24]
        routes: [{network: 0.0.0.0/0, gateway: 10.40.0.1}]
  - hostname: gpu-1
    ipAddress: 10.40.0.21
    controlPlane: false
    installDisk: /dev/disk/by-id/nvme-A_B_C
    machineSpec: {mode: metal, secureboot: true}
    schematic:
      customization:
        extraKernelArgs: [net.ifnames=0]
        systemExtensions:
          officialExtensions:
            - siderolabs/nonfree-kmod-nvidia-production
            - siderolabs/nvidia-container-toolkit-production
    kernelModules:
      - name: nvidia
      - name: nvidia_uvm
      - name: nvidia_drm
      - name: nvidia_modeset
    nodeLabels:
      secure: '{{ .MachineConfig.MachineInstall.InstallImage | contains "installer-secureboot" }}'
    volumes:
      - name: EPHEMERAL
        provisioning: {maxSize: 50GiB}
        encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
      - name: STATE
        encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}
    extensionServices:
      - name: nut-client
        configFiles:
          - content: MONITOR ups 1 remote pass hidden
            mountPath: /usr/local/etc/nut/upsmon.conf
        environment: [UPS_NAME=ups]
    networkInterfaces:
      - interface: bond0
        bond:
          mode: active-backup
          miimon: 100
          deviceSelectors:
            - {hardwareAddr: "aa:bb:cc:00:02:21"}
            - {hardwareAddr: "aa:bb:cc:00:02:22"}
        addresses: [10.40.0.21/24]
        routes: [{gateway: 10.40.0.1}]
    patches:
      - |-
        machine:
          sysctls:
            net.core.bpf_jit_harden: "1"
""",
}
SAMPLES = {"single": SINGLE, "ha": HA, "gpu": GPU}


def files(size: str, bundle: Bundle) -> dict[str, str]:
    return {**SAMPLES[size], "talsecret.yaml": bundle.to_yaml()}

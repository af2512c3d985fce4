"""The kinds of resources that follow from a node's state."""

from __future__ import annotations

Kind = tuple[str, str]  # namespace, type

MEMBERS: Kind = ("cluster", "Members.cluster.talos.dev")
MACHINE_STATUS: Kind = ("runtime", "MachineStatuses.runtime.talos.dev")
BOOT_ID: Kind = ("runtime", "BootIDs.runtime.talos.dev")
SCHEMATIC: Kind = ("runtime", "ImageFactorySchematics.runtime.talos.dev")
EXTENSIONS: Kind = ("runtime", "ExtensionStatuses.runtime.talos.dev")
UNATTENDED: Kind = ("runtime", "UnattendedInstallStatuses.runtime.talos.dev")
SECURITY: Kind = ("runtime", "SecurityStates.talos.dev")
PLATFORM: Kind = ("runtime", "PlatformMetadatas.talos.dev")
META_KEYS: Kind = ("runtime", "MetaKeys.runtime.talos.dev")
SERVICE_PIDS: Kind = ("runtime", "ServicePIDs.runtime.talos.dev")
SERVICES: Kind = ("runtime", "Services.v1alpha1.talos.dev")
DIAGNOSTICS: Kind = ("runtime", "Diagnostics.runtime.talos.dev")
TIME_STATUS: Kind = ("runtime", "TimeStatuses.v1alpha1.talos.dev")
DISKS: Kind = ("runtime", "Disks.block.talos.dev")
SYSTEM_DISK: Kind = ("runtime", "SystemDisks.block.talos.dev")
DISCOVERED_VOLUMES: Kind = ("runtime", "DiscoveredVolumes.block.talos.dev")
VOLUMES: Kind = ("runtime", "VolumeStatuses.block.talos.dev")
LINKS: Kind = ("network", "LinkStatuses.net.talos.dev")
ADDRESSES: Kind = ("network", "AddressStatuses.net.talos.dev")
NODE_ADDRESSES: Kind = ("network", "NodeAddresses.net.talos.dev")
HOSTNAME: Kind = ("network", "HostnameStatuses.net.talos.dev")
NETWORK_STATUS: Kind = ("network", "NetworkStatuses.net.talos.dev")
MACHINE_CONFIG: Kind = ("config", "MachineConfigs.config.talos.dev")
MACHINE_TYPE: Kind = ("config", "MachineTypes.config.talos.dev")
ETCD_MEMBER: Kind = ("etcd", "EtcdMembers.etcd.talos.dev")
NODE_STATUS: Kind = ("k8s", "NodeStatuses.kubernetes.talos.dev")
MANIFESTS: Kind = ("controlplane", "BootstrapManifestsConfigs.kubernetes.talos.dev")
COMPONENTS: dict[str, Kind] = {
    "kube-apiserver": ("controlplane", "APIServerConfigs.kubernetes.talos.dev"),
    "kube-controller-manager": ("controlplane", "ControllerManagerConfigs.kubernetes.talos.dev"),
    "kube-scheduler": ("controlplane", "SchedulerConfigs.kubernetes.talos.dev"),
}
STATIC_PODS: Kind = ("k8s", "StaticPodStatuses.kubernetes.talos.dev")
SYSTEM: Kind = ("hardware", "SystemInformations.hardware.talos.dev")
PROCESSORS: Kind = ("hardware", "Processors.hardware.talos.dev")
MEMORY: Kind = ("hardware", "MemoryModules.hardware.talos.dev")
PCI: Kind = ("hardware", "PCIDevices.hardware.talos.dev")

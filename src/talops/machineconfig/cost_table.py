"""What a change of each setting costs a running node: every field of the main document, and every
other kind. The tests walk the schema, so that no setting is without a row.

Judged by the sources of Talos (v1.12.11, v1.13.9, v1.14.0-rc.1): its controllers, its services, and
its page "Edit Machine Configuration". Whether Talos reboots for a change depends on its version:
`effects.py` knows that.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Cost(StrEnum):
    """In the order in which a plan mentions them."""

    # Takes effect at once, or only in Kubernetes objects; nothing stops.
    NOTHING = "nothing"
    # A service of the node, or a pod of Kubernetes on it, starts again.
    RESTART = "restart"
    # If it is wrong, the node cannot be reached any more: it is tried first.
    CUT = "cut"
    # Read when the node, or a volume of it, starts.
    REBOOT = "reboot"
    # Decided when the node was installed or named: another value needs another node.
    FIXED = "fixed"
    # The same on all nodes of the cluster: another value separates them, or loses data.
    SHARED = "shared"


class Row(NamedTuple):
    """`service`: what restarts. `by_key`: the keys of the setting decide."""

    cost: Cost
    service: str = ""
    by_key: bool = False


NOTHING = Row(Cost.NOTHING)
CUT = Row(Cost.CUT)
REBOOT = Row(Cost.REBOOT)
FIXED = Row(Cost.FIXED)
SHARED = Row(Cost.SHARED)
# Parameters below net. can take the network away; the others cannot.
KERNEL = Row(Cost.CUT, by_key=True)


def restart(service: str) -> Row:
    return Row(Cost.RESTART, service)


KUBELET = restart("kubelet")
API_SERVER = restart("kube-apiserver")
CONTROLLERS = restart("kube-controller-manager")
SCHEDULER = restart("kube-scheduler")
RUNTIME = restart("containerd")
# Keys that Secrets are encrypted with may be added, but not replaced.
STORED = Row(Cost.SHARED, "kube-apiserver")
# In the configs of the components and of the kubelet.
KUBERNETES = restart("kubelet and Kubernetes components")

# The longest path that contains a setting decides.
MAIN: dict[str, Row] = {
    "version": NOTHING,
    "debug": NOTHING,
    "persist": NOTHING,
    "machine.type": FIXED,
    "machine.token": SHARED,
    "machine.ca": SHARED,
    # A CA that is not accepted any more rejects clients that have its certificates.
    "machine.acceptedCAs": CUT,
    # Added to the certificate of the API, which always contains the addresses of the node.
    "machine.certSANs": NOTHING,
    "machine.controlPlane.controllerManager": CONTROLLERS,
    "machine.controlPlane.scheduler": SCHEDULER,
    "machine.kubelet": KUBELET,
    # The name of the Node.
    "machine.kubelet.registerWithFQDN": FIXED,
    "machine.pods": restart("static pods"),
    "machine.network.hostname": FIXED,
    "machine.network.interfaces": CUT,
    "machine.network.kubespan": CUT,
    # Without names, a node finds neither the endpoint nor its other nodes.
    "machine.network.nameservers": CUT,
    "machine.network.searchDomains": CUT,
    "machine.network.disableSearchDomain": CUT,
    "machine.network.extraHostEntries": CUT,
    "machine.disks": REBOOT,
    # Read by the next installation or upgrade.
    "machine.install": NOTHING,
    "machine.files": REBOOT,
    "machine.env": REBOOT,
    "machine.time": NOTHING,
    "machine.sysctls": KERNEL,
    "machine.sysfs": NOTHING,
    "machine.registries.mirrors": NOTHING,
    "machine.registries.config": RUNTIME,
    "machine.systemDiskEncryption": REBOOT,
    "machine.features.rbac": NOTHING,
    "machine.features.stableHostname": NOTHING,
    "machine.features.kubernetesTalosAPIAccess": NOTHING,
    # Certificates of clients that the API did not check before may be rejected.
    "machine.features.apidCheckExtKeyUsage": CUT,
    "machine.features.diskQuotaSupport": REBOOT,
    "machine.features.kubePrism": KUBELET,
    "machine.features.hostDNS": CUT,
    "machine.features.imageCache": NOTHING,
    # The order decides which address the kubelet and etcd announce.
    "machine.features.nodeAddressSortAlgorithm": CUT,
    "machine.udev": NOTHING,
    "machine.logging": NOTHING,
    # A new module is loaded; another change of modules needs a reboot (see effects.py).
    "machine.kernel": NOTHING,
    "machine.seccompProfiles": NOTHING,
    "machine.baseRuntimeSpecOverrides": RUNTIME,
    "machine.nodeLabels": NOTHING,
    "machine.nodeAnnotations": NOTHING,
    "machine.nodeTaints": NOTHING,
    "cluster.id": SHARED,
    "cluster.secret": SHARED,
    # Kubelets, and trustd clients on workers, connect to it.
    "cluster.controlPlane.endpoint": CUT,
    "cluster.controlPlane.localAPIServerPort": KUBERNETES,
    "cluster.clusterName": CONTROLLERS,
    "cluster.network.cni": NOTHING,
    "cluster.network.dnsDomain": KUBERNETES,
    "cluster.network.podSubnets": KUBERNETES,
    "cluster.network.serviceSubnets": KUBERNETES,
    "cluster.token": SHARED,
    "cluster.aescbcEncryptionSecret": STORED,
    "cluster.secretboxEncryptionSecret": STORED,
    "cluster.ca": SHARED,
    "cluster.acceptedCAs": KUBERNETES,
    "cluster.aggregatorCA": SHARED,
    "cluster.serviceAccount": SHARED,
    "cluster.apiServer": API_SERVER,
    "cluster.controllerManager": CONTROLLERS,
    "cluster.proxy": NOTHING,
    "cluster.scheduler": SCHEDULER,
    # Workers find control planes by it.
    "cluster.discovery": CUT,
    "cluster.etcd.ca": SHARED,
    "cluster.etcd": REBOOT,
    "cluster.coreDNS": NOTHING,
    "cluster.externalCloudProvider": KUBERNETES,
    "cluster.extraManifests": NOTHING,
    "cluster.extraManifestHeaders": NOTHING,
    "cluster.inlineManifests": NOTHING,
    "cluster.adminKubeconfig": NOTHING,
    "cluster.allowSchedulingOnMasters": NOTHING,
    "cluster.allowSchedulingOnControlPlanes": NOTHING,
}

_LINKS = (
    "BondConfig",
    "BridgeConfig",
    "DummyLinkConfig",
    "EthernetConfig",
    "LinkAliasConfig",
    "LinkConfig",
    "VLANConfig",
    "VRFConfig",
    "VethConfig",
    "WireguardConfig",
)
_ROUTING = (
    "BGPInstanceConfig",
    "BlackholeRouteConfig",
    "DHCPv4Config",
    "DHCPv6Config",
    "HCloudVIPConfig",
    "KubeSpanConfig",
    "KubeSpanEndpointsConfig",
    "Layer2VIPConfig",
    "RoutingRuleConfig",
    "SideroLinkConfig",
)
_FIREWALL = ("NetworkDefaultActionConfig", "NetworkRuleConfig")
_NAMES = ("DiscoveryServiceConfig", "ResolverConfig", "StaticHostConfig")
# Volumes: what they contain stays; encryption and mount options are for effects.py.
_VOLUMES = (
    "ExistingVolumeConfig",
    "ExternalVolumeConfig",
    "RawVolumeConfig",
    "SwapVolumeConfig",
    "UserVolumeConfig",
    "VolumeConfig",
)
_HARMLESS = (
    "EventSinkConfig",
    "FilesystemScrubConfig",
    "FilesystemTrimConfig",
    "HTTPProbeConfig",
    "ImageCacheConfig",
    "ImageVerificationConfig",
    "KernelModuleConfig",
    "KmsgLogConfig",
    "KubeCoreDNSConfig",
    "KubeExternalManifestConfig",
    "KubeFlannelCNIConfig",
    "KubeInlineManifestConfig",
    "KubeProxyConfig",
    "KubeTalosAPIAccessConfig",
    "LVMLogicalVolumeConfig",
    "LVMVolumeGroupConfig",
    "OOMConfig",
    "RAIDArrayConfig",
    "RegistryMirrorConfig",
    "RegistryTLSConfig",
    "SysfsConfig",
    "TCPProbeConfig",
    "TimeSyncConfig",
    "TrustedRootsConfig",
    "UdevRulesConfig",
    "UnattendedInstallConfig",
    "WatchdogTimerConfig",
    "ZswapConfig",
)
_TRUSTED = {"issuingCA": SHARED, "acceptedCAs": KUBERNETES}

# A kind has one row, or one for each of its fields.
KINDS: dict[str, Row | dict[str, Row]] = {
    **dict.fromkeys((*_LINKS, *_ROUTING, *_FIREWALL, *_NAMES), CUT),
    **dict.fromkeys((*_VOLUMES, *_HARMLESS), NOTHING),
    # The driver of a network card can be one of them.
    "PCIDriverRebindConfig": CUT,
    "CRIBaseRuntimeSpecConfig": RUNTIME,
    "CRICustomizationConfig": RUNTIME,
    "ContainerConfig": restart("the container"),
    "DiscoveryIdentityConfig": SHARED,
    "EnvironmentConfig": REBOOT,
    "EtcFileConfig": NOTHING,
    "ExtensionServiceConfig": restart("the extension"),
    "HostnameConfig": FIXED,
    "KubeAPIServerCAConfig": _TRUSTED,
    "KubeAPIServerConfig": API_SERVER,
    "KubeAdmissionControlConfig": API_SERVER,
    "KubeAggregatorCAConfig": _TRUSTED,
    "KubeAuditPolicyConfig": API_SERVER,
    "KubeAuthenticationConfig": API_SERVER,
    "KubeAuthorizerConfig": API_SERVER,
    "KubeClusterConfig": {"clusterName": CONTROLLERS, "endpoint": CUT},
    "KubeControllerManagerConfig": CONTROLLERS,
    "KubeCredentialProviderConfig": KUBELET,
    "KubeEtcdEncryptionConfig": STORED,
    "KubeNetworkConfig": KUBERNETES,
    "KubeNodeConfig": {
        "skipNodeRegistration": KUBELET,
        "registerWithFQDN": FIXED,
        "nodeIP": KUBELET,
        "labels": NOTHING,
        "annotations": NOTHING,
        "taints": NOTHING,
    },
    "KubePrismConfig": KUBELET,
    "KubeSchedulerConfig": SCHEDULER,
    "KubeServiceAccountConfig": {
        "issuer.privateKey": SHARED,
        "issuer.issuerURL": API_SERVER,
        "accepted": API_SERVER,
    },
    "KubeStaticPodConfig": restart("static pods"),
    "KubeletConfig": KUBELET,
    "RegistryAuthConfig": RUNTIME,
    "SecurityProfileConfig": REBOOT,
    "SysctlConfig": KERNEL,
}

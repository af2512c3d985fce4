"""Settings with two places, one in the main document and one in a separate document; only one may
be set. Contracts up to 1.13 use the main document, from 1.14 on separate documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talops.machineconfig.patches.identity import identify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Document = dict[str, Any]


class Twin(NamedTuple):
    """In Talos, `path` of the main document and `kind` exclude each other. With `field`, only if
    the document sets it; with `name`, only the document with this name.
    """

    path: str
    kind: str
    field: str = ""
    name: str = ""

    def __str__(self) -> str:
        return _WORDS.get(self.path, f".{self.path} {_SET}")


TWINS = (
    Twin("machine.install", "UnattendedInstallConfig"),
    Twin("machine.kubelet", "KubeletConfig"),
    Twin("machine.kubelet", "KubeCredentialProviderConfig"),
    Twin("machine.kubelet.nodeIP", "KubeNodeConfig"),
    Twin("machine.kubelet.registerWithFQDN", "KubeNodeConfig"),
    Twin("machine.kubelet.skipNodeRegistration", "KubeNodeConfig"),
    Twin("machine.nodeLabels", "KubeNodeConfig"),
    Twin("machine.nodeAnnotations", "KubeNodeConfig"),
    Twin("machine.nodeTaints", "KubeNodeConfig"),
    Twin("machine.controlPlane.controllerManager", "KubeControllerManagerConfig"),
    Twin("machine.controlPlane.scheduler", "KubeSchedulerConfig"),
    Twin("machine.features.kubePrism", "KubePrismConfig"),
    Twin("machine.features.kubernetesTalosAPIAccess", "KubeTalosAPIAccessConfig"),
    Twin("machine.features.imageCache", "ImageCacheConfig"),
    Twin("machine.features.hostDNS", "ResolverConfig", "hostDNS"),
    Twin("machine.features.stableHostname", "HostnameConfig"),
    Twin("machine.network.hostname", "HostnameConfig"),
    Twin("machine.network.nameservers", "ResolverConfig"),
    Twin("machine.network.searchDomains", "ResolverConfig"),
    Twin("machine.network.disableSearchDomain", "ResolverConfig"),
    Twin("machine.network.kubespan", "KubeSpanConfig"),
    Twin("machine.time.disabled", "TimeSyncConfig"),
    Twin("machine.time.servers", "TimeSyncConfig"),
    Twin("machine.time.bootTimeout", "TimeSyncConfig"),
    Twin("machine.systemDiskEncryption.state", "VolumeConfig", "encryption", "STATE"),
    Twin("machine.systemDiskEncryption.ephemeral", "VolumeConfig", "encryption", "EPHEMERAL"),
    Twin("machine.baseRuntimeSpecOverrides", "CRIBaseRuntimeSpecConfig"),
    Twin("cluster.id", "DiscoveryIdentityConfig"),
    Twin("cluster.secret", "DiscoveryIdentityConfig"),
    Twin("cluster.discovery", "DiscoveryServiceConfig"),
    Twin("cluster.clusterName", "KubeClusterConfig"),
    Twin("cluster.controlPlane.endpoint", "KubeClusterConfig"),
    Twin("cluster.controlPlane.localAPIServerPort", "KubeAPIServerConfig"),
    Twin("cluster.network", "KubeNetworkConfig"),
    Twin("cluster.network", "KubeFlannelCNIConfig"),
    Twin("cluster.ca", "KubeAPIServerCAConfig"),
    Twin("cluster.aggregatorCA", "KubeAggregatorCAConfig"),
    Twin("cluster.serviceAccount", "KubeServiceAccountConfig"),
    Twin("cluster.aescbcEncryptionSecret", "KubeEtcdEncryptionConfig"),
    Twin("cluster.secretboxEncryptionSecret", "KubeEtcdEncryptionConfig"),
    Twin("cluster.apiServer", "KubeAPIServerConfig"),
    Twin("cluster.apiServer.admissionControl", "KubeAdmissionControlConfig"),
    Twin("cluster.apiServer.admissionControl", "KubeAuthorizerConfig"),
    Twin("cluster.apiServer.auditPolicy", "KubeAuditPolicyConfig"),
    Twin("cluster.controllerManager", "KubeControllerManagerConfig"),
    Twin("cluster.scheduler", "KubeSchedulerConfig"),
    Twin("cluster.proxy", "KubeProxyConfig"),
    Twin("cluster.coreDNS", "KubeCoreDNSConfig"),
    Twin("cluster.allowSchedulingOnControlPlanes", "KubeNodeConfig"),
    Twin("cluster.allowSchedulingOnMasters", "KubeNodeConfig"),
)
# For a section, even `{}` conflicts; for a list or a string, only a value does.
_NOT_SET: tuple[Any, ...] = (None, "", [])
_SET = "is already set in v1alpha1 config"
# Messages of Talos that differ from the default.
_WORDS = {
    "machine.install": "UnattendedInstallConfig config is incompatible with v1alpha1 config"
    " (.machine.install)",
    "machine.kubelet": f"kubelet config {_SET} (.machine.kubelet)",
    "machine.network.hostname": f"static hostname {_SET}",
    "machine.features.stableHostname": f"stable hostname {_SET}",
    "machine.time.disabled": "time sync cannot be disabled in both v1alpha1 and new-style"
    " configuration",
    "machine.time.servers": "time servers cannot be specified in both v1alpha1 and new-style"
    " configuration",
    "machine.time.bootTimeout": "boot timeout cannot be specified in both v1alpha1 and new-style"
    " configuration",
    "machine.systemDiskEncryption.state": 'system disk encryption for "STATE" is configured'
    " in both v1alpha1.Config and VolumeConfig",
    "machine.systemDiskEncryption.ephemeral": 'system disk encryption for "EPHEMERAL" is configured'
    " in both v1alpha1.Config and VolumeConfig",
    "cluster.apiServer": f"kube-apiserver config {_SET} (.cluster.apiServer)",
    "cluster.ca": f"kube-apiserver CA {_SET} (.cluster.ca)",
    "cluster.clusterName": f"cluster name {_SET} (.cluster.clusterName)",
}


def conflicts(documents: Sequence[Document]) -> Iterator[Twin]:
    """Every setting that is set at both places."""
    main = next((d for d in documents if identify(d).is_main), {})
    others = [d for d in documents if not identify(d).is_main]
    for twin in TWINS:
        if is_set(main, twin.path) and any(holds(document, twin) for document in others):
            yield twin


def is_set(main: Document, path: str) -> bool:
    value: Any = main
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value not in _NOT_SET


def holds(document: Document, twin: Twin) -> bool:
    return (
        document.get("kind") == twin.kind
        and (not twin.name or document.get("name") == twin.name)
        and (not twin.field or document.get(twin.field) not in _NOT_SET)
    )

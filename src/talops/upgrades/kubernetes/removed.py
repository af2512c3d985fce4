"""What releases of Kubernetes remove, by minor version. Data.

Carried over from siderolabs/go-kubernetes, kubernetes/upgrade/checks.go at 0caf1f2 (v0.2.41), which
Talos itself uses: feature gates are those of all components, flags those of one. An entry of 36 is
absent since 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.machineconfig.kubernetes_images import Component

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Resource:
    """A version of an API that is not served any more."""

    group: str
    version: str
    plural: str

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}/{self.plural}"

    def __str__(self) -> str:
        return f"{self.plural} of {self.group}/{self.version}"


@dataclass(frozen=True)
class Removed:
    gates: frozenset[str] = frozenset()
    flags: Mapping[Component, frozenset[str]] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()  # admission plugins of the API server
    resources: tuple[Resource, ...] = ()


def _flags(component: Component, *names: str) -> dict[Component, frozenset[str]]:
    return {component: frozenset(names)}


NOTHING = Removed()
_KUBELET, _API_SERVER = Component.KUBELET, Component.API_SERVER
_MANAGER = Component.CONTROLLER_MANAGER
_SCHEDULING = "scheduling.k8s.io"

REMOVED: dict[int, Removed] = {
    27: Removed(
        gates=frozenset(
            {
                *("ExpandCSIVolumes", "ExpandInUsePersistentVolumes", "ExpandPersistentVolumes"),
                *("ControllerManagerLeaderMigration", "CSIMigration", "CSIInlineVolume"),
                *("EphemeralContainers", "LocalStorageCapacityIsolation", "NetworkPolicyEndPort"),
                *("StatefulSetMinReadySeconds", "IdentifyPodOS", "DaemonSetUpdateSurge"),
            }
        ),
        flags=_flags(_MANAGER, "enable-taint-manager", "pod-eviction-timeout")
        | _flags(_KUBELET, "container-runtime", "master-service-namespace"),
    ),
    28: Removed(
        gates=frozenset(
            {
                *("AdvancedAuditing", "DelegateFSGroupToCSIDriver", "DevicePlugins"),
                *("DisableAcceleratorUsageMetrics", "EndpointSliceTerminatingCondition"),
                *("CSIStorageCapacity", "CSIMigrationGCE", "KubeletCredentialProviders"),
                *("MixedProtocolLBService", "ServiceInternalTrafficPolicy"),
                *("ServiceIPStaticSubrange", "WindowsHostProcessContainers"),
            }
        )
    ),
    29: Removed(resources=(Resource("networking.k8s.io", "v1alpha1", "clustercidrs"),)),
    30: Removed(
        gates=frozenset(
            {
                *("ExpandedDNSConfig", "ExperimentalHostUserNamespaceDefaultingGate"),
                *("IPTablesOwnershipCleanup", "KubeletPodResources"),
                *("KubeletPodResourcesGetAllocatable", "MinimizeIPTablesRestore"),
                *("ProxyTerminatingEndpoints", "RemoveSelfLink"),
            }
        ),
        plugins=frozenset({"SecurityContextDeny"}),
    ),
    31: Removed(
        gates=frozenset(
            {
                *("APIPriorityAndFairness", "CSINodeExpandSecret", "ConsistentHTTPGetHandlers"),
                *("DefaultHostNetworkHostPortsInPodTemplates", "ServiceNodePortStaticSubrange"),
                "SkipReadOnlyValidationGCE",
            }
        ),
        flags=_flags(
            _KUBELET, "keep-terminated-pod-volumes", "iptables-masquerade-bit", "iptables-drop-bit"
        )
        | _flags(
            _MANAGER,
            *("volume-host-cidr-denylist", "volume-host-allow-local-loopback"),
            "horizontal-pod-autoscaler-upscale-delay",
            "horizontal-pod-autoscaler-downscale-delay",
        ),
    ),
    32: Removed(
        gates=frozenset(
            {
                *("AllowServiceLBStatusOnNonLB", "CloudDualStackNodeIPs"),
                *("DRAControlPlaneController", "HPAContainerMetrics", "KMSv2", "KMSv2KDF"),
                *("LegacyServiceAccountTokenCleanUp", "MinDomainsInPodTopologySpread"),
                *("NewVolumeManagerReconstruction", "NodeOutOfServiceVolumeDetach"),
                *("ServerSideApply", "ServerSideFieldValidation", "StableLoadBalancerNodeSet"),
                *("ValidatingAdmissionPolicy", "ZeroLimitedNominalConcurrencyShares"),
            }
        ),
        resources=(Resource("resource.k8s.io", "v1alpha3", "podschedulingcontexts"),),
    ),
    33: Removed(
        gates=frozenset(
            {
                *("AppArmor", "AppArmorFields", "CPUManager", "DisableCloudProviders"),
                *("DisableKubeletCloudCredentialProviders", "JobPodFailurePolicy"),
                *("KubeProxyDrainingTerminatingNodes", "PDBUnhealthyPodEvictionPolicy"),
                *("PersistentVolumeLastPhaseTransitionTime", "VolumeCapacityPriority"),
            }
        ),
        flags=_flags(_API_SERVER, "cloud-config"),
    ),
    34: Removed(
        gates=frozenset(
            {"DevicePluginCDIDevices", "LegacySidecarContainers", "PodDisruptionConditions"}
        ),
        flags=_flags(_KUBELET, "cloud-config"),
    ),
    35: Removed(
        gates=frozenset({"SizeMemoryBackedVolumes", "UserNamespacesHostNetworkSupport"}),
        flags=_flags(_KUBELET, "pod-infra-container-image"),
    ),
    36: Removed(
        gates=frozenset(
            {
                *("CSIMigrationPortworx", "HonorPVReclaimPolicy", "InTreePluginPortworxUnregister"),
                "WatchFromStorageWithoutResourceVersion",
            }
        )
    ),
    37: Removed(
        gates=frozenset(
            {
                *("AnyVolumeDataSource", "DeclarativeValidationTakeover", "GangScheduling"),
                *("PreventStaticPodAPIReferences", "WorkloadAwarePreemption"),
            }
        ),
        # Flags of cAdvisor: a kubelet that is given one of them does not start.
        flags=_flags(
            _KUBELET,
            *("application-metrics-count-limit", "boot-id-file", "container-hints", "containerd"),
            *("containerd-namespace", "enable-load-reader", "event-storage-age-limit"),
            *("event-storage-event-limit", "global-housekeeping-interval", "log-cadvisor-usage"),
            *("machine-id-file", "storage-driver-user", "storage-driver-password"),
            *("storage-driver-host", "storage-driver-db", "storage-driver-table"),
            *("storage-driver-secure", "storage-driver-buffer-duration"),
        ),
        resources=(
            Resource(_SCHEDULING, "v1alpha2", "workloads"),
            Resource(_SCHEDULING, "v1alpha2", "podgroups"),
        ),
    ),
}


def removed_by(minor: int) -> Removed:
    return REMOVED.get(minor, NOTHING)

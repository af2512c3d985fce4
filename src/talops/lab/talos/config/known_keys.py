"""The keys that the strict decoder of machine configs accepts; all others are refused.

`None` means that anything may stand below; a mapping means that only these keys may.
"""

from __future__ import annotations

from typing import TypeAlias

Known: TypeAlias = "dict[str, Known | None]"


def _keys(text: str, **nested: Known) -> Known:
    known: Known = dict.fromkeys(text.split())
    known.update(nested)
    return known


_PAIR = _keys("crt key")
_LINK = "name up mtu multicast addresses routes"

V1ALPHA1: Known = _keys(
    "version debug persist",
    machine=_keys(
        "type token acceptedCAs certSANs controlPlane pods disks files env time sysctls sysfs"
        " registries systemDiskEncryption udev logging kernel seccompProfiles"
        " baseRuntimeSpecOverrides nodeLabels nodeAnnotations nodeTaints",
        ca=_PAIR,
        kubelet=_keys(
            "image clusterDNS extraArgs extraMounts extraConfig credentialProviderConfig"
            " defaultRuntimeSeccompProfileEnabled registerWithFQDN nodeIP skipNodeRegistration"
            " disableManifestsDirectory"
        ),
        network=_keys(
            "hostname interfaces nameservers searchDomains extraHostEntries kubespan"
            " disableSearchDomain"
        ),
        install=_keys(
            "disk diskSelector extraKernelArgs image extensions wipe legacyBIOSSupport"
            " grubUseUKICmdline"
        ),
        features=_keys(
            "rbac stableHostname kubernetesTalosAPIAccess apidCheckExtKeyUsage diskQuotaSupport"
            " kubePrism hostDNS imageCache nodeAddressSortAlgorithm"
        ),
    ),
    cluster=_keys(
        "id secret clusterName token aescbcEncryptionSecret secretboxEncryptionSecret acceptedCAs"
        " controllerManager scheduler discovery coreDNS externalCloudProvider extraManifests"
        " extraManifestHeaders inlineManifests adminKubeconfig allowSchedulingOnControlPlanes"
        " allowSchedulingOnMasters",
        ca=_PAIR,
        aggregatorCA=_PAIR,
        serviceAccount=_keys("key"),
        controlPlane=_keys("endpoint localAPIServerPort"),
        network=_keys("cni dnsDomain podSubnets serviceSubnets"),
        apiServer=_keys(
            "image extraArgs extraVolumes env certSANs disablePodSecurityPolicy admissionControl"
            " auditPolicy resources authorizationConfig"
        ),
        proxy=_keys("disabled image mode extraArgs"),
        etcd=_keys("image ca extraArgs advertisedSubnets listenSubnets subnet"),
    ),
)

_SINCE_1_12: dict[str, str] = {
    "BondConfig": f"{_LINK} hardwareAddr links bondMode miimon updelay downdelay useCarrier"
    " xmitHashPolicy arpInterval arpIpTargets nsIp6Targets arpValidate arpAllTargets lacpRate"
    " failOverMac adSelect adActorSysPrio adUserPortKey adLACPActive primaryReselect resendIGMP"
    " minLinks lpInterval packetsPerSlave numPeerNotif tlbLogicalLb allSlavesActive peerNotifDelay"
    " missedMax",
    "BridgeConfig": f"{_LINK} hardwareAddr links stp vlan",
    "DHCPv4Config": "name routeMetric ignoreHostname clientIdentifier duidRaw",
    "DHCPv6Config": "name routeMetric ignoreHostname clientIdentifier duidRaw",
    "DummyLinkConfig": f"{_LINK} hardwareAddr",
    "EthernetConfig": "name features rings channels wakeOnLan",
    "EventSinkConfig": "endpoint",
    "ExistingVolumeConfig": "name discovery mount",
    "ExtensionServiceConfig": "name configFiles environment",
    "HCloudVIPConfig": "name link apiToken",
    "HostnameConfig": "auto hostname",
    "KmsgLogConfig": "name url",
    "KubeSpanEndpoints": "extraAnnouncedEndpoints",
    "Layer2VIPConfig": "name link",
    "LinkAliasConfig": "name selector",
    "LinkConfig": _LINK,
    "NetworkDefaultActionConfig": "ingress",
    "NetworkRuleConfig": "name portSelector ingress",
    "OOMConfig": "triggerExpression cgroupRankingExpression sampleInterval",
    "PCIDriverRebindConfig": "name targetDriver",
    "RawVolumeConfig": "name provisioning encryption",
    "RegistryAuthConfig": "name username password auth identityToken",
    "RegistryMirrorConfig": "name endpoints skipFallback",
    "RegistryTLSConfig": "name clientIdentity ca insecureSkipVerify",
    "ResolverConfig": "nameservers searchDomains",
    "SideroLinkConfig": "apiUrl uniqueToken",
    "StaticHostConfig": "name hostnames",
    "SwapVolumeConfig": "name provisioning encryption",
    "TimeSyncConfig": "enabled bootTimeout ntp ptp",
    "TrustedRootsConfig": "name certificates",
    "UserVolumeConfig": "name volumeType provisioning filesystem encryption",
    "VLANConfig": f"{_LINK} vlanID vlanMode parent",
    "VolumeConfig": "name provisioning encryption",
    "WatchdogTimerConfig": "device timeout",
    "WireguardConfig": f"{_LINK} privateKey listenPort firewallMark peers",
    "ZswapConfig": "maxPoolPercent shrinkerEnabled",
}
_SINCE_1_13: dict[str, str] = {
    "BlackholeRouteConfig": "name metric",
    "EnvironmentConfig": "variables",
    "ExternalVolumeConfig": "name filesystemType mount",
    "KubeSpanConfig": "enabled advertiseKubernetesNetworks allowDownPeerBypass"
    " harvestExtraEndpoints mtu filters",
    "OOMConfig": f"{_SINCE_1_12['OOMConfig']} strictCgroupClassOrdering",
    "RoutingRuleConfig": "name src dst table action iifName oifName fwMark fwMask",
    "TCPProbeConfig": "name interval failureThreshold endpoint timeout",
    "UserVolumeConfig": f"{_SINCE_1_12['UserVolumeConfig']} mount",
    "VRFConfig": f"{_LINK} hardwareAddr links table",
    "VolumeConfig": f"{_SINCE_1_12['VolumeConfig']} mount",
}
_SINCE_1_14: dict[str, str] = {
    "BGPInstanceConfig": "name vrf localASN routerID routeSource advertise multipath maxPaths"
    " installRoutes importRoutes neighbors",
    "CRIBaseRuntimeSpecConfig": "overrides",
    "CRICustomizationConfig": "name content",
    "ContainerConfig": "name image entrypoint args workingDir runAs environment mounts security"
    " network resources dependsOn",
    "DiscoveryIdentityConfig": "clusterID clusterSecret",
    "DiscoveryServiceConfig": "name endpoint",
    "EtcFileConfig": "name mode contents",
    "FilesystemScrubConfig": "interval",
    "FilesystemTrimConfig": "interval",
    "HTTPProbeConfig": "name interval failureThreshold url timeout",
    "ImageCacheConfig": "local",
    "KernelModuleConfig": "name parameters",
    "KubeAPIServerCAConfig": "issuingCA acceptedCAs",
    "KubeAPIServerConfig": "image extraArgs env resources apiPort certExtraSANs startupProbes",
    "KubeAdmissionControlConfig": "name configuration",
    "KubeAggregatorCAConfig": "issuingCA acceptedCAs",
    "KubeAuditPolicyConfig": "configuration",
    "KubeAuthenticationConfig": "configuration",
    "KubeAuthorizerConfig": "name type webhook",
    "KubeClusterConfig": "clusterName endpoint",
    "KubeControllerManagerConfig": "enabled image extraArgs env resources",
    "KubeCoreDNSConfig": "enabled image",
    "KubeCredentialProviderConfig": "configuration",
    "KubeEtcdEncryptionConfig": "config",
    "KubeExternalManifestConfig": "name headers url",
    "KubeFlannelCNIConfig": "backendType backendPort backendMTU backendExtraConfig resources"
    " extraArgs kubeNetworkPoliciesEnabled",
    "KubeInlineManifestConfig": "name manifest",
    "KubeNetworkConfig": "dnsDomain podSubnets serviceSubnets nodeCIDRMaskSizeIPv4"
    " nodeCIDRMaskSizeIPv6",
    "KubeNodeConfig": "skipNodeRegistration registerWithFQDN nodeIP labels annotations taints",
    "KubePrismConfig": "port tlsServerName",
    "KubeProxyConfig": "enabled image mode config extraArgs resources",
    "KubeSchedulerConfig": "enabled config image extraArgs env resources",
    "KubeServiceAccountConfig": "issuer accepted",
    "KubeStaticPodConfig": "name pod",
    "KubeTalosAPIAccessConfig": "allowedRoles allowedKubernetesNamespaces",
    "KubeletConfig": "image config extraArgs clusterDNS defaultRuntimeSeccompProfileEnabled",
    "LVMLogicalVolumeConfig": "name type mirrors stripes provisioning",
    "LVMVolumeGroupConfig": "name provisioning",
    "RAIDArrayConfig": "name level metadata provisioning",
    "SecurityProfileConfig": "workloadIsolation",
    "SysctlConfig": "params",
    "SysfsConfig": "params",
    "UdevRulesConfig": "rules",
    "UnattendedInstallConfig": "reboot installer provisioning",
    "VethConfig": "name peer up mtu addresses routes multicast",
    "DHCPv4Config": f"{_SINCE_1_12['DHCPv4Config']} ignoreRoutes",
    "ExistingVolumeConfig": f"{_SINCE_1_12['ExistingVolumeConfig']} scrub trim",
    "ResolverConfig": f"{_SINCE_1_12['ResolverConfig']} hostDNS",
    "UserVolumeConfig": f"{_SINCE_1_13['UserVolumeConfig']} scrub trim",
    "VolumeConfig": f"{_SINCE_1_13['VolumeConfig']} filesystem scrub trim",
}


def documents(minor: int) -> dict[str, Known]:
    """The kinds of documents that Talos 1.`minor` has registered."""
    texts = dict(_SINCE_1_12)
    for since, more in ((13, _SINCE_1_13), (14, _SINCE_1_14)):
        texts |= more if minor >= since else {}
    return {kind: _keys(f"apiVersion kind {text}") for kind, text in texts.items()}

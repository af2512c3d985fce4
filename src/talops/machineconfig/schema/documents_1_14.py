"""The documents that Talos 1.14 added; most replace fields of the main document."""

from __future__ import annotations

from talops.machineconfig.schema.types import (
    ANY,
    ARGS,
    COUNT,
    DURATION,
    FLAG,
    FREE,
    LAST,
    NUMBER,
    SIZE,
    SWITCH,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    Lists,
    Special,
    Struct,
    Type,
    ZeroValued,
    struct,
)

NEWEST = Special.NEWEST
_MATCH = struct(match=LAST)
# Strings that are merged separately, unlike the pair in the main document.
_CERTIFICATE = struct(cert=TEXT, key=TEXT)
_TRUSTED: dict[str, Type] = {"issuingCA": _CERTIFICATE, "acceptedCAs": TEXTS}
_RESOURCES = struct(requests=FREE, limits=FREE)
_POD: dict[str, Type] = {
    "image": TEXT,
    "extraArgs": ARGS,
    "env": TEXT_MAP,
    "resources": _RESOURCES,
}
_LINK: dict[str, Type] = {
    "up": FLAG,
    "mtu": NUMBER,
    "addresses": ListOf(struct(address=TEXT, routePriority=COUNT)),
    "routes": ListOf(
        struct(destination=TEXT, gateway=TEXT, source=TEXT, metric=NUMBER, mtu=NUMBER, table=ANY)
    ),
    "multicast": FLAG,
}
_NEIGHBOR = struct(
    address=TEXT,
    link=TEXT,
    peerASN=NUMBER,
    localASN=NUMBER,
    passive=FLAG,
    holdTime=DURATION,
    bfd=struct(transmitInterval=DURATION, receiveInterval=DURATION, detectMultiplier=NUMBER),
)
_CONTAINER_MOUNT = struct(
    userVolume=struct(name=TEXT, destination=TEXT, options=TEXTS),
    tmpfs=struct(destination=TEXT, size=TEXT, options=TEXTS),
    hostPath=struct(source=TEXT, destination=TEXT, options=TEXTS),
)

# Kind → fields without apiVersion, kind and name.
NAMED: dict[str, dict[str, Type]] = {
    "BGPInstanceConfig": {
        "vrf": TEXT,
        "localASN": NUMBER,
        "routerID": TEXT,
        "routeSource": TEXT,
        "advertise": ListOf(TEXT, Lists.REPLACE),
        "multipath": FLAG,
        "maxPaths": NUMBER,
        "installRoutes": FLAG,
        "importRoutes": ListOf(struct(bgpInstance=TEXT, prefixes=TEXTS), Lists.REPLACE),
        "neighbors": ListOf(_NEIGHBOR, Lists.REPLACE),
    },
    "CRICustomizationConfig": {"content": TEXT},
    "ContainerConfig": {
        "image": TEXT,
        "entrypoint": TEXTS,
        "args": TEXTS,
        "workingDir": TEXT,
        "runAs": struct(uid=COUNT, gid=COUNT),
        "environment": TEXTS,
        "mounts": ListOf(_CONTAINER_MOUNT),
        "security": struct(
            profile=TEXT, capabilities=struct(add=TEXTS, drop=TEXTS), machinedAccess=SWITCH
        ),
        "network": struct(mode=TEXT),
        "resources": struct(limits=struct(cpu=TEXT, memory=TEXT)),
        "dependsOn": struct(paths=TEXTS, networks=TEXTS, time=FLAG, containers=TEXTS),
    },
    "DiscoveryServiceConfig": {"endpoint": TEXT},
    "EtcFileConfig": {"mode": ANY, "contents": TEXT},
    "HTTPProbeConfig": {
        "interval": DURATION,
        "failureThreshold": NUMBER,
        "url": TEXT,
        "timeout": DURATION,
    },
    "KernelModuleConfig": {"parameters": TEXTS},
    "KubeAdmissionControlConfig": {"configuration": FREE},
    "KubeAuthorizerConfig": {"type": TEXT, "webhook": FREE},
    "KubeExternalManifestConfig": {"headers": TEXT_MAP, "url": TEXT},
    "KubeInlineManifestConfig": {"manifest": TEXT},
    "KubeStaticPodConfig": {"pod": NEWEST},
    "LVMLogicalVolumeConfig": {
        "type": ZeroValued("linear"),
        "mirrors": COUNT,
        "stripes": COUNT,
        "provisioning": struct(volumeGroup=TEXT, minSize=LAST, maxSize=SIZE),
    },
    "LVMVolumeGroupConfig": {"provisioning": struct(volumeSelector=_MATCH)},
    "RAIDArrayConfig": {
        "level": ZeroValued("raid1"),
        "metadata": ANY,
        "provisioning": struct(volumeSelector=_MATCH),
    },
    "VethConfig": {"peer": Struct({"name": TEXT, **_LINK}), **_LINK},
}
UNNAMED: dict[str, dict[str, Type]] = {
    "CRIBaseRuntimeSpecConfig": {"overrides": NEWEST},
    "DiscoveryIdentityConfig": {"clusterID": TEXT, "clusterSecret": TEXT},
    "FilesystemScrubConfig": {"interval": DURATION},
    "FilesystemTrimConfig": {"interval": DURATION},
    "ImageCacheConfig": {"local": struct(enabled=FLAG)},
    "KubeAPIServerCAConfig": _TRUSTED,
    "KubeAPIServerConfig": {
        **_POD,
        "apiPort": COUNT,
        "certExtraSANs": TEXTS,
        "startupProbes": FLAG,
    },
    "KubeAggregatorCAConfig": _TRUSTED,
    "KubeAuditPolicyConfig": {"configuration": NEWEST},
    "KubeAuthenticationConfig": {"configuration": NEWEST},
    "KubeClusterConfig": {"clusterName": TEXT, "endpoint": TEXT},
    "KubeControllerManagerConfig": {"enabled": FLAG, **_POD},
    "KubeCoreDNSConfig": {"enabled": FLAG, "image": TEXT},
    "KubeCredentialProviderConfig": {"configuration": NEWEST},
    "KubeEtcdEncryptionConfig": {"config": FREE},
    "KubeFlannelCNIConfig": {
        "backendType": TEXT,
        "backendPort": NUMBER,
        "backendMTU": NUMBER,
        "backendExtraConfig": FREE,
        "resources": _RESOURCES,
        "extraArgs": TEXTS,
        "kubeNetworkPoliciesEnabled": FLAG,
    },
    "KubeNetworkConfig": {
        "dnsDomain": TEXT,
        "podSubnets": ListOf(TEXT, Lists.REPLACE),
        "serviceSubnets": ListOf(TEXT, Lists.REPLACE),
        "nodeCIDRMaskSizeIPv4": NUMBER,
        "nodeCIDRMaskSizeIPv6": NUMBER,
    },
    "KubeNodeConfig": {
        "skipNodeRegistration": FLAG,
        "registerWithFQDN": FLAG,
        "nodeIP": struct(validSubnets=TEXTS),
        "labels": TEXT_MAP,
        "annotations": TEXT_MAP,
        "taints": TEXT_MAP,
    },
    "KubePrismConfig": {"port": NUMBER, "tlsServerName": TEXT},
    "KubeProxyConfig": {
        "enabled": FLAG,
        "image": TEXT,
        "mode": TEXT,
        "config": FREE,
        "extraArgs": ARGS,
        "resources": _RESOURCES,
    },
    "KubeSchedulerConfig": {"enabled": FLAG, "config": FREE, **_POD},
    "KubeServiceAccountConfig": {
        "issuer": struct(privateKey=TEXT, issuerURL=TEXT),
        "accepted": struct(publicKeys=TEXTS, issuers=TEXTS, audiences=TEXTS),
    },
    "KubeTalosAPIAccessConfig": {"allowedRoles": TEXTS, "allowedKubernetesNamespaces": TEXTS},
    "KubeletConfig": {
        "image": TEXT,
        "config": FREE,
        "extraArgs": ARGS,
        "clusterDNS": TEXTS,
        "defaultRuntimeSeccompProfileEnabled": FLAG,
    },
    "SecurityProfileConfig": {"workloadIsolation": FLAG},
    "SysctlConfig": {"params": TEXT_MAP},
    "SysfsConfig": {"params": TEXT_MAP},
    "UdevRulesConfig": {"rules": TEXTS},
    "UnattendedInstallConfig": {
        "reboot": FLAG,
        "installer": struct(image=TEXT),
        "provisioning": struct(diskSelector=_MATCH, wipe=FLAG),
    },
}
# Fields added to older kinds; paths of list items have no index.
NEW_FIELDS = (
    "DHCPv4Config.ignoreRoutes",
    "ExistingVolumeConfig.scrub",
    "ExistingVolumeConfig.trim",
    "RawVolumeConfig.encryption.allowDiscards",
    "ResolverConfig.hostDNS",
    "ResolverConfig.nameservers.protocol",
    "ResolverConfig.nameservers.tlsServerName",
    "SwapVolumeConfig.encryption.allowDiscards",
    "TimeSyncConfig.ntp.useNTS",
    "UserVolumeConfig.encryption.allowDiscards",
    "UserVolumeConfig.filesystem.xfs",
    "UserVolumeConfig.scrub",
    "UserVolumeConfig.trim",
    "VolumeConfig.encryption.allowDiscards",
    "VolumeConfig.filesystem",
    "VolumeConfig.mount.disableAccessTime",
    "VolumeConfig.scrub",
    "VolumeConfig.trim",
)

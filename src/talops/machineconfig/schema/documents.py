"""The documents next to the main one, by kind, with the first contract that has them."""

from __future__ import annotations

from talops.machineconfig.contract import Contract
from talops.machineconfig.schema import documents_1_14
from talops.machineconfig.schema.types import (
    ANY,
    BYTES,
    COUNT,
    DURATION,
    FLAG,
    LAST,
    NUMBER,
    NUMBERS,
    SIZE,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    Lists,
    MapOf,
    Struct,
    Type,
    ZeroValued,
    struct,
)

_LINK: dict[str, Type] = {
    "up": FLAG,
    "mtu": NUMBER,
    "addresses": ListOf(struct(address=TEXT, routePriority=COUNT)),
    "routes": ListOf(
        struct(destination=TEXT, gateway=TEXT, source=TEXT, metric=NUMBER, mtu=NUMBER, table=ANY)
    ),
    "multicast": FLAG,
}
_DHCP: dict[str, Type] = {
    "routeMetric": NUMBER,
    "ignoreHostname": FLAG,
    "clientIdentifier": TEXT,
    "duidRaw": BYTES,
}
_ENCRYPTION = struct(
    provider=ZeroValued("none"),
    keys=ListOf(
        struct(
            slot=NUMBER,
            static=struct(passphrase=TEXT),
            nodeID=struct(),
            kms=struct(endpoint=TEXT),
            tpm=struct(options=struct(pcrs=NUMBERS), checkSecurebootStatusOnEnroll=FLAG),
            lockToState=FLAG,
        )
    ),
    cipher=TEXT,
    keySize=NUMBER,
    blockSize=NUMBER,
    options=TEXTS,
    allowDiscards=FLAG,
)
_PROVISIONING = struct(diskSelector=struct(match=LAST), grow=FLAG, minSize=LAST, maxSize=SIZE)
_OWN_MOUNT = struct(disableAccessTime=FLAG, secure=FLAG)
_MOUNT = Struct({"readOnly": FLAG, **_OWN_MOUNT.fields})
_UPKEEP: dict[str, Type] = dict.fromkeys(("trim", "scrub"), struct(enabled=FLAG, interval=DURATION))
_XFS = struct(minAllocationGroupSize=SIZE)
_BOND_NUMBERS = (
    "miimon",
    "updelay",
    "downdelay",
    "arpInterval",
    "adActorSysPrio",
    "adUserPortKey",
    "resendIGMP",
    "minLinks",
    "lpInterval",
    "packetsPerSlave",
    "numPeerNotif",
    "tlbLogicalLb",
    "allSlavesActive",
    "peerNotifDelay",
    "missedMax",
)
_BOND_TEXTS = (
    "bondMode",
    "xmitHashPolicy",
    "arpValidate",
    "arpAllTargets",
    "lacpRate",
    "failOverMac",
    "adSelect",
    "adLACPActive",
    "primaryReselect",
)
_BOND: dict[str, Type] = {
    "hardwareAddr": BYTES,
    "links": TEXTS,
    "useCarrier": FLAG,
    "arpIpTargets": TEXTS,
    "nsIp6Targets": TEXTS,
    **dict.fromkeys(_BOND_NUMBERS, COUNT),
    **dict.fromkeys(_BOND_TEXTS, TEXT),
}
_VOLUME: dict[str, Type] = {"provisioning": _PROVISIONING, "encryption": _ENCRYPTION}
_RINGS = ("rx", "tx", "rx-mini", "rx-jumbo", "rx-buf-len", "cqe-size", "tx-push-buf-len")
_RING_FLAGS = ("tx-push", "rx-push", "tcp-data-split")

_PEER = struct(
    publicKey=TEXT,
    presharedKey=TEXT,
    endpoint=TEXT,
    persistentKeepaliveInterval=DURATION,
    allowedIPs=TEXTS,
)
_IMAGE_RULE = struct(
    image=TEXT,
    skip=FLAG,
    deny=FLAG,
    keyless=struct(issuer=TEXT, subject=TEXT, subjectRegex=TEXT),
    publicKey=struct(certificate=TEXT),
)

# Kind → fields without apiVersion, kind and name.
_NAMED: dict[str, dict[str, Type]] = {
    "BlackholeRouteConfig": {"metric": NUMBER},
    "BondConfig": {**_BOND, **_LINK},
    "BridgeConfig": {
        "hardwareAddr": BYTES,
        "links": TEXTS,
        "stp": struct(enabled=FLAG),
        "vlan": struct(filtering=FLAG),
        **_LINK,
    },
    "DHCPv4Config": {"ignoreRoutes": FLAG, **_DHCP},
    "DHCPv6Config": _DHCP,
    "DummyLinkConfig": {"hardwareAddr": BYTES, **_LINK},
    "EthernetConfig": {
        "features": MapOf(FLAG),
        "rings": Struct({**dict.fromkeys(_RINGS, COUNT), **dict.fromkeys(_RING_FLAGS, FLAG)}),
        "channels": struct(rx=COUNT, tx=COUNT, other=COUNT, combined=COUNT),
        "wakeOnLan": TEXTS,
    },
    "ExistingVolumeConfig": {
        "discovery": struct(volumeSelector=struct(match=LAST)),
        "mount": _MOUNT,
        **_UPKEEP,
    },
    "ExtensionServiceConfig": {
        "configFiles": ListOf(struct(content=TEXT, mountPath=TEXT), key=("mountPath",)),
        "environment": TEXTS,
    },
    "ExternalVolumeConfig": {
        "filesystemType": ZeroValued("none"),
        "mount": Struct({**_MOUNT.fields, "virtiofs": struct(tag=TEXT)}),
    },
    "HCloudVIPConfig": {"link": TEXT, "apiToken": TEXT},
    "KmsgLogConfig": {"url": TEXT},
    "Layer2VIPConfig": {"link": TEXT},
    "LinkAliasConfig": {"selector": struct(match=LAST)},
    "LinkConfig": _LINK,
    "NetworkRuleConfig": {
        "portSelector": struct(ports=ListOf(ANY, Lists.REPLACE), protocol=TEXT),
        "ingress": ListOf(struct(subnet=TEXT, **{"except": TEXT}), Lists.REPLACE),
    },
    "PCIDriverRebindConfig": {"targetDriver": TEXT},
    "RawVolumeConfig": _VOLUME,
    "RegistryAuthConfig": {
        "username": TEXT,
        "password": TEXT,
        "auth": TEXT,
        "identityToken": TEXT,
    },
    "RegistryMirrorConfig": {
        "endpoints": ListOf(struct(url=TEXT, overridePath=FLAG)),
        "skipFallback": FLAG,
    },
    "RegistryTLSConfig": {
        "clientIdentity": struct(cert=TEXT, key=TEXT),
        "ca": TEXT,
        "insecureSkipVerify": FLAG,
    },
    "RoutingRuleConfig": {
        "src": TEXT,
        "dst": TEXT,
        "table": ANY,
        "action": ANY,
        "iifName": TEXT,
        "oifName": TEXT,
        "fwMark": NUMBER,
        "fwMask": NUMBER,
    },
    "StaticHostConfig": {"hostnames": TEXTS},
    "SwapVolumeConfig": _VOLUME,
    "TCPProbeConfig": {
        "interval": DURATION,
        "failureThreshold": NUMBER,
        "endpoint": TEXT,
        "timeout": DURATION,
    },
    "TrustedRootsConfig": {"certificates": TEXT},
    "UserVolumeConfig": {
        "volumeType": TEXT,
        "filesystem": struct(type=ZeroValued("none"), projectQuotaSupport=FLAG, xfs=_XFS),
        "mount": _OWN_MOUNT,
        **_VOLUME,
        **_UPKEEP,
    },
    "VLANConfig": {"vlanID": NUMBER, "vlanMode": TEXT, "parent": TEXT, **_LINK},
    "VRFConfig": {"hardwareAddr": BYTES, "links": TEXTS, "table": ANY, **_LINK},
    "VolumeConfig": {
        "filesystem": struct(xfs=_XFS),
        "mount": _OWN_MOUNT,
        **_VOLUME,
        **_UPKEEP,
    },
    "WireguardConfig": {
        "privateKey": TEXT,
        "listenPort": NUMBER,
        "firewallMark": NUMBER,
        "peers": ListOf(_PEER),
        **_LINK,
    },
}
_UNNAMED: dict[str, dict[str, Type]] = {
    "EnvironmentConfig": {"variables": TEXT_MAP},
    "EventSinkConfig": {"endpoint": TEXT},
    "HostnameConfig": {"auto": TEXT, "hostname": TEXT},
    "ImageVerificationConfig": {"rules": ListOf(_IMAGE_RULE, key=("image",), swap=True)},
    "KubeSpanConfig": {
        "enabled": FLAG,
        "advertiseKubernetesNetworks": FLAG,
        "allowDownPeerBypass": FLAG,
        "harvestExtraEndpoints": FLAG,
        "mtu": COUNT,
        "filters": struct(endpoints=TEXTS, excludeAdvertisedNetworks=TEXTS),
    },
    "KubeSpanEndpointsConfig": {"extraAnnouncedEndpoints": TEXTS},
    "NetworkDefaultActionConfig": {"ingress": ZeroValued("accept")},
    "OOMConfig": {
        "triggerExpression": LAST,
        "cgroupRankingExpression": LAST,
        "strictCgroupClassOrdering": FLAG,
        "sampleInterval": DURATION,
    },
    "ResolverConfig": {
        "nameservers": ListOf(struct(address=TEXT, protocol=TEXT, tlsServerName=TEXT)),
        "searchDomains": struct(domains=TEXTS, disableDefault=FLAG),
        "hostDNS": struct(enabled=FLAG, forwardKubeDNSToHost=FLAG, resolveMemberNames=FLAG),
    },
    "SideroLinkConfig": {"apiUrl": TEXT, "uniqueToken": TEXT},
    "TimeSyncConfig": {
        "enabled": FLAG,
        "bootTimeout": DURATION,
        "ntp": struct(servers=TEXTS, useNTS=FLAG),
        "ptp": struct(devices=TEXTS),
    },
    "WatchdogTimerConfig": {"device": TEXT, "timeout": DURATION},
    "ZswapConfig": {"maxPoolPercent": COUNT, "shrinkerEnabled": FLAG},
}
_HEADER: dict[str, Type] = {"apiVersion": TEXT, "kind": TEXT}

NAMED = frozenset([*_NAMED, *documents_1_14.NAMED])
KINDS: dict[str, Struct] = {
    **{
        kind: Struct({**_HEADER, "name": TEXT, **fields})
        for kind, fields in (_NAMED | documents_1_14.NAMED).items()
    },
    **{
        kind: Struct({**_HEADER, **fields})
        for kind, fields in (_UNNAMED | documents_1_14.UNNAMED).items()
    },
}
# Kinds with other merge rules in Talos 1.14.
_RESOLVER = KINDS["ResolverConfig"]
_SEARCH = struct(domains=ListOf(TEXT, Lists.REPLACE), disableDefault=FLAG)
KINDS_OF_1_14 = {"ResolverConfig": Struct({**_RESOLVER.fields, "searchDomains": _SEARCH})}
_NEW_IN_1_13 = (
    "BlackholeRouteConfig",
    "EnvironmentConfig",
    "ExternalVolumeConfig",
    "ImageVerificationConfig",
    "KubeSpanConfig",
    "RoutingRuleConfig",
    "TCPProbeConfig",
    "VRFConfig",
)
_NEW_IN_1_14 = (*documents_1_14.NAMED, *documents_1_14.UNNAMED)
# Kinds, and fields as `Kind.field`, that older supported Talos versions reject.
SINCE = dict.fromkeys(_NEW_IN_1_13, Contract.V1_13) | dict.fromkeys(
    (*_NEW_IN_1_14, *documents_1_14.NEW_FIELDS), Contract.V1_14
)

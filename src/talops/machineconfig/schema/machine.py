"""The `machine` section of the v1alpha1 document."""

from __future__ import annotations

from talops.machineconfig.schema.types import (
    ANY,
    ARGS,
    BYTES,
    COUNT,
    DURATION,
    FLAG,
    FREE,
    NUMBER,
    PAIR,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    MapOf,
    Struct,
    struct,
)

_ID_MAPPINGS = ListOf(struct(containerID=NUMBER, hostID=NUMBER, size=NUMBER))
_EXTRA_MOUNT = struct(
    destination=TEXT,
    type=TEXT,
    source=TEXT,
    options=TEXTS,
    uidMappings=_ID_MAPPINGS,
    gidMappings=_ID_MAPPINGS,
)
_KUBELET = struct(
    image=TEXT,
    clusterDNS=TEXTS,
    extraArgs=ARGS,
    extraMounts=ListOf(_EXTRA_MOUNT),
    extraConfig=FREE,
    credentialProviderConfig=FREE,
    defaultRuntimeSeccompProfileEnabled=FLAG,
    registerWithFQDN=FLAG,
    nodeIP=struct(validSubnets=TEXTS),
    skipNodeRegistration=FLAG,
    disableManifestsDirectory=FLAG,
)

_LINK_SELECTOR = struct(
    busPath=TEXT, hardwareAddr=TEXT, permanentAddr=TEXT, pciID=TEXT, driver=TEXT, physical=FLAG
)
_ROUTES = ListOf(struct(network=TEXT, gateway=TEXT, source=TEXT, metric=NUMBER, mtu=NUMBER))
_DHCP = struct(routeMetric=NUMBER, ipv4=FLAG, ipv6=FLAG, duidv6=TEXT)
_VIP = struct(ip=TEXT, equinixMetal=struct(apiToken=TEXT), hcloud=struct(apiToken=TEXT))
_BOND_TEXTS = (
    "mode",
    "xmitHashPolicy",
    "lacpRate",
    "adActorSystem",
    "arpValidate",
    "arpAllTargets",
    "primary",
    "primaryReselect",
    "failOverMac",
    "adSelect",
)
_BOND_NUMBERS = (
    "miimon",
    "updelay",
    "downdelay",
    "arpInterval",
    "resendIgmp",
    "minLinks",
    "lpInterval",
    "packetsPerSlave",
    "numPeerNotif",
    "tlbDynamicLb",
    "allSlavesActive",
    "adActorSysPrio",
    "adUserPortKey",
    "peerNotifyDelay",
)
_BOND = Struct(
    {
        "interfaces": TEXTS,
        "deviceSelectors": ListOf(_LINK_SELECTOR),
        "arpIPTarget": TEXTS,
        "useCarrier": FLAG,
        **dict.fromkeys(_BOND_TEXTS, TEXT),
        **dict.fromkeys(_BOND_NUMBERS, NUMBER),
    }
)
_VLAN = struct(
    addresses=TEXTS,
    cidr=TEXT,
    routes=_ROUTES,
    dhcp=FLAG,
    vlanId=NUMBER,
    mtu=NUMBER,
    vip=_VIP,
    dhcpOptions=_DHCP,
)
_WIREGUARD = struct(
    privateKey=TEXT,
    listenPort=NUMBER,
    firewallMark=NUMBER,
    peers=ListOf(
        struct(
            publicKey=TEXT,
            endpoint=TEXT,
            persistentKeepaliveInterval=DURATION,
            allowedIPs=TEXTS,
        )
    ),
)
_INTERFACE = struct(
    interface=TEXT,
    deviceSelector=_LINK_SELECTOR,
    addresses=TEXTS,
    cidr=TEXT,
    routes=_ROUTES,
    bond=_BOND,
    bridge=struct(interfaces=TEXTS, stp=struct(enabled=FLAG), vlan=struct(vlanFiltering=FLAG)),
    bridgePort=struct(master=TEXT),
    vlans=ListOf(_VLAN, key=("vlanId",)),
    mtu=NUMBER,
    dhcp=FLAG,
    ignore=FLAG,
    dummy=FLAG,
    dhcpOptions=_DHCP,
    wireguard=_WIREGUARD,
    vip=_VIP,
)
_KUBESPAN = struct(
    enabled=FLAG,
    advertiseKubernetesNetworks=FLAG,
    allowDownPeerBypass=FLAG,
    harvestExtraEndpoints=FLAG,
    mtu=COUNT,
    filters=struct(endpoints=TEXTS, excludeAdvertisedNetworks=TEXTS),
)
_NETWORK = struct(
    hostname=TEXT,
    interfaces=ListOf(_INTERFACE, key=("interface", "deviceSelector")),
    nameservers=TEXTS,
    searchDomains=TEXTS,
    extraHostEntries=ListOf(struct(ip=TEXT, aliases=TEXTS)),
    kubespan=_KUBESPAN,
    disableSearchDomain=FLAG,
)

_INSTALL = struct(
    disk=TEXT,
    diskSelector=struct(
        size=ANY,
        name=TEXT,
        model=TEXT,
        serial=TEXT,
        modalias=TEXT,
        uuid=TEXT,
        wwid=TEXT,
        type=TEXT,
        busPath=TEXT,
    ),
    extraKernelArgs=TEXTS,
    image=TEXT,
    extensions=ListOf(struct(image=TEXT)),
    bootloader=FLAG,
    wipe=FLAG,
    legacyBIOSSupport=FLAG,
    grubUseUKICmdline=FLAG,
)
_DISKS = ListOf(
    struct(device=TEXT, partitions=ListOf(struct(size=ANY, mountpoint=TEXT))),
)
_REGISTRIES = struct(
    mirrors=MapOf(struct(endpoints=TEXTS, overridePath=FLAG, skipFallback=FLAG)),
    config=MapOf(
        struct(
            tls=struct(clientIdentity=PAIR, ca=BYTES, insecureSkipVerify=FLAG),
            auth=struct(username=TEXT, password=TEXT, auth=TEXT, identityToken=TEXT),
        )
    ),
)
_ENCRYPTION = struct(
    provider=TEXT,
    keys=ListOf(
        struct(
            static=struct(passphrase=TEXT),
            nodeID=struct(),
            kms=struct(endpoint=TEXT),
            slot=NUMBER,
            tpm=struct(checkSecurebootStatusOnEnroll=FLAG),
        )
    ),
    cipher=TEXT,
    keySize=NUMBER,
    blockSize=NUMBER,
    options=TEXTS,
)
_FEATURES = struct(
    rbac=FLAG,
    stableHostname=FLAG,
    kubernetesTalosAPIAccess=struct(
        enabled=FLAG, allowedRoles=TEXTS, allowedKubernetesNamespaces=TEXTS
    ),
    apidCheckExtKeyUsage=FLAG,
    diskQuotaSupport=FLAG,
    kubePrism=struct(enabled=FLAG, port=NUMBER),
    hostDNS=struct(enabled=FLAG, forwardKubeDNSToHost=FLAG, resolveMemberNames=FLAG),
    imageCache=struct(localEnabled=FLAG),
    nodeAddressSortAlgorithm=TEXT,
)

MACHINE = struct(
    type=TEXT,
    token=TEXT,
    ca=PAIR,
    acceptedCAs=ListOf(Struct({"crt": BYTES}, sealed=True)),
    certSANs=TEXTS,
    controlPlane=struct(controllerManager=struct(disabled=FLAG), scheduler=struct(disabled=FLAG)),
    kubelet=_KUBELET,
    pods=ListOf(FREE),
    network=_NETWORK,
    disks=_DISKS,
    install=_INSTALL,
    files=ListOf(struct(content=TEXT, permissions=ANY, path=TEXT, op=TEXT)),
    env=TEXT_MAP,
    time=struct(disabled=FLAG, servers=TEXTS, bootTimeout=DURATION),
    sysctls=TEXT_MAP,
    sysfs=TEXT_MAP,
    registries=_REGISTRIES,
    systemDiskEncryption=struct(state=_ENCRYPTION, ephemeral=_ENCRYPTION),
    features=_FEATURES,
    udev=struct(rules=TEXTS),
    logging=struct(
        destinations=ListOf(struct(endpoint=TEXT, format=TEXT, extraTags=TEXT_MAP)),
    ),
    kernel=struct(modules=ListOf(struct(name=TEXT, parameters=TEXTS))),
    seccompProfiles=ListOf(struct(name=TEXT, value=FREE)),
    baseRuntimeSpecOverrides=FREE,
    nodeLabels=TEXT_MAP,
    nodeAnnotations=TEXT_MAP,
    nodeTaints=TEXT_MAP,
)

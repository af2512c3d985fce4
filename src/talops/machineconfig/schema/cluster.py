"""The `cluster` section of the v1alpha1 document, and the document itself."""

from __future__ import annotations

from talops.machineconfig.schema.machine import MACHINE
from talops.machineconfig.schema.types import (
    ARGS,
    BYTES,
    DURATION,
    FLAG,
    FREE,
    NUMBER,
    PAIR,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    Lists,
    Special,
    Struct,
    Type,
    struct,
)

_VOLUMES = ListOf(struct(hostPath=TEXT, mountPath=TEXT, readonly=FLAG))
_COMPONENT: dict[str, Type] = {
    "image": TEXT,
    "extraArgs": ARGS,
    "extraVolumes": _VOLUMES,
    "env": TEXT_MAP,
    "resources": struct(requests=FREE, limits=FREE),
}
_API_SERVER = Struct(
    {
        **_COMPONENT,
        "certSANs": TEXTS,
        "disablePodSecurityPolicy": FLAG,
        "admissionControl": ListOf(struct(name=TEXT, configuration=FREE), key=("name",)),
        "auditPolicy": Special.NEWEST,
        "authorizationConfig": ListOf(struct(type=TEXT, name=TEXT, webhook=FREE)),
    }
)
_NETWORK = struct(
    cni=struct(
        name=TEXT,
        urls=TEXTS,
        flannel=struct(extraArgs=TEXTS, kubeNetworkPoliciesEnabled=FLAG),
    ),
    dnsDomain=TEXT,
    podSubnets=ListOf(TEXT, Lists.REPLACE),
    serviceSubnets=ListOf(TEXT, Lists.REPLACE),
)
_DISCOVERY = struct(
    enabled=FLAG,
    registries=struct(
        kubernetes=struct(disabled=FLAG), service=struct(disabled=FLAG, endpoint=TEXT)
    ),
)
_ETCD = struct(
    image=TEXT,
    ca=PAIR,
    extraArgs=ARGS,
    subnet=TEXT,
    advertisedSubnets=TEXTS,
    listenSubnets=TEXTS,
)

CLUSTER = struct(
    id=TEXT,
    secret=TEXT,
    controlPlane=struct(endpoint=TEXT, localAPIServerPort=NUMBER),
    clusterName=TEXT,
    network=_NETWORK,
    token=TEXT,
    aescbcEncryptionSecret=TEXT,
    secretboxEncryptionSecret=TEXT,
    ca=PAIR,
    acceptedCAs=ListOf(Struct({"crt": BYTES}, sealed=True)),
    aggregatorCA=PAIR,
    serviceAccount=Struct({"key": BYTES}, sealed=True),
    apiServer=_API_SERVER,
    controllerManager=Struct(_COMPONENT),
    proxy=struct(disabled=FLAG, image=TEXT, mode=TEXT, extraArgs=ARGS),
    scheduler=Struct({**_COMPONENT, "config": FREE}),
    discovery=_DISCOVERY,
    etcd=_ETCD,
    coreDNS=struct(disabled=FLAG, image=TEXT),
    externalCloudProvider=struct(enabled=FLAG, manifests=TEXTS),
    extraManifests=TEXTS,
    extraManifestHeaders=TEXT_MAP,
    inlineManifests=ListOf(struct(name=TEXT, contents=TEXT)),
    adminKubeconfig=struct(certLifetime=DURATION),
    allowSchedulingOnMasters=FLAG,
    allowSchedulingOnControlPlanes=FLAG,
)

MAIN = struct(version=TEXT, debug=FLAG, persist=FLAG, machine=MACHINE, cluster=CLUSTER)

"""Patches written for the other config format, and the correct place of their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.patches import deletion
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.patches.twins import TWINS, holds, is_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.contract import Contract
    from talops.machineconfig.patches.twins import Twin
    from talops.machineconfig.request import Patch

# The new place of a field of the main document; the longest matching path counts.
_MOVED = {
    "machine.install.image": "UnattendedInstallConfig.installer.image",
    "machine.install.disk": "UnattendedInstallConfig.provisioning.diskSelector.match",
    "machine.install.diskSelector": "UnattendedInstallConfig.provisioning.diskSelector.match",
    "machine.install.wipe": "UnattendedInstallConfig.provisioning.wipe",
    "machine.install.extraKernelArgs": "the image, by talops talos schematic --kernel-arg",
    "machine.kubelet.extraConfig": "KubeletConfig.config",
    "machine.kubelet.extraMounts": "",
    "machine.kubelet.credentialProviderConfig": "KubeCredentialProviderConfig.configuration",
    "machine.kubelet.nodeIP": "KubeNodeConfig.nodeIP",
    "machine.kubelet.registerWithFQDN": "KubeNodeConfig.registerWithFQDN",
    "machine.kubelet.skipNodeRegistration": "KubeNodeConfig.skipNodeRegistration",
    "machine.nodeLabels": "KubeNodeConfig.labels",
    "machine.nodeAnnotations": "KubeNodeConfig.annotations",
    "machine.nodeTaints": "KubeNodeConfig.taints",
    "machine.features.hostDNS": "ResolverConfig.hostDNS",
    "machine.network.hostname": "HostnameConfig.hostname",
    "machine.network.searchDomains": "ResolverConfig.searchDomains.domains",
    "cluster.id": "DiscoveryIdentityConfig.clusterID",
    "cluster.secret": "DiscoveryIdentityConfig.clusterSecret",
    "cluster.discovery.enabled": "DiscoveryServiceConfig: without one, discovery is off",
    "cluster.discovery.registries.service.endpoint": "DiscoveryServiceConfig.endpoint",
    "cluster.clusterName": "KubeClusterConfig.clusterName",
    "cluster.controlPlane.endpoint": "KubeClusterConfig.endpoint",
    "cluster.controlPlane.localAPIServerPort": "KubeAPIServerConfig.apiPort",
    "cluster.network.cni": "KubeFlannelCNIConfig: without one, no network is installed",
    "cluster.apiServer.certSANs": "KubeAPIServerConfig.certExtraSANs",
    "cluster.apiServer.admissionControl": "KubeAdmissionControlConfig, one per plugin",
    "cluster.apiServer.auditPolicy": "KubeAuditPolicyConfig.configuration",
    "cluster.apiServer.authorizationConfig": "KubeAuthorizerConfig, one per authorizer",
    "cluster.apiServer.extraVolumes": "",
    "cluster.proxy.disabled": "KubeProxyConfig.enabled",
    "cluster.coreDNS.disabled": "KubeCoreDNSConfig.enabled",
    "cluster.allowSchedulingOnControlPlanes": "allow_scheduling_on_control_planes in cluster.yaml",
    "cluster.allowSchedulingOnMasters": "allow_scheduling_on_control_planes in cluster.yaml",
}

# Keys below these paths are defined by the user.
_DEEPEST = 4


def check(
    generated: Sequence[dict[str, Any]], patches: Sequence[Patch], contract: Contract
) -> None:
    """Reject a patch that has a setting at its other place."""
    written = [(patch, document) for patch in patches for document in patch.documents]
    given_up = {d.get("kind") for _, d in written if d.get(deletion.MARK) == "delete"}
    for patch, document in written:
        for twin in TWINS:
            if twin.kind in given_up or identify(document).is_main is not contract.splits_documents:
                continue
            if not identify(document).is_main:
                if holds(document, twin) and any(is_set(d, twin.path) for d in generated):
                    raise _belongs_in_main(twin, patch, contract)
            elif is_set(document, twin.path) and any(holds(d, twin) for d in generated):
                raise _belongs_beside(document, twin, patch, contract)


def _belongs_beside(
    document: dict[str, Any], twin: Twin, patch: Patch, contract: Contract
) -> TalopsError:
    path = _leaf(document, twin.path)
    known = [moved for moved in _MOVED if path == moved or path.startswith(f"{moved}.")]
    place = _MOVED[max(known, key=len)] if known else _same_name(path, twin)
    return TalopsError(
        f"{path} conflicts with {twin.kind}: configs of contract v{contract} have it there",
        where=patch.where,
        hint=f"write it to {place}" if place else f"Talos {contract} removed this setting",
    )


def _belongs_in_main(twin: Twin, patch: Patch, contract: Contract) -> TalopsError:
    places = [known.path for known in TWINS if known.kind == twin.kind]
    return TalopsError(
        f"{twin.kind} conflicts with {twin.path}: configs of contract v{contract} have it there",
        where=patch.where,
        hint=f"write it to {' or '.join(places)} of the main document",
    )


def _leaf(document: dict[str, Any], path: str) -> str:
    """The path, extended while it has only one key."""
    value: Any = document
    for part in path.split("."):
        value = value[part]
    while isinstance(value, dict) and len(value) == 1:
        [(key, value)] = value.items()
        if key == deletion.MARK or f"{path}.{key}".count(".") > _DEEPEST:
            break
        path = f"{path}.{key}"
    return path


def _same_name(path: str, twin: Twin) -> str:
    rest = path.removeprefix(twin.path).lstrip(".")
    return f"{twin.kind}.{rest}" if rest else twin.kind

"""The v1alpha1 document: as `talosctl gen config` writes it, plus inventory settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import images
from talops.machineconfig.documents import nvidia
from talops.machineconfig.documents.kubernetes import KUBEPRISM_PORT, NO_EXTERNAL_LB
from talops.machineconfig.documents.policies import AUDIT_POLICY, POD_SECURITY
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    from talops.machineconfig.request import ClusterRequest, NodeRequest
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair

HOST_DNS = {"enabled": True, "forwardKubeDNSToHost": True}
_DISK_QUOTA = {"diskQuotaSupport": True}


def main_document(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> dict[str, Any]:
    machine = _identity(cluster, node, bundle)
    if cluster.contract.splits_documents:
        machine["features"] = dict(_DISK_QUOTA)
        own = {"etcd": _etcd(bundle)} if node.control_plane else {}
        inner = {"token": bundle.bootstrap_token.reveal()} | own
    else:
        machine |= _machine(cluster, node)
        role = _control_plane if node.control_plane else _worker
        inner = _shared(cluster, bundle) | role(cluster, bundle)
    return {
        "version": "v1alpha1",
        "debug": False,
        "persist": True,
        "machine": machine,
        "cluster": inner,
    }


def _identity(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> dict[str, Any]:
    return {
        "type": "controlplane" if node.control_plane else "worker",
        "token": bundle.trustd_token.reveal(),
        "ca": _pair(bundle.os, with_key=node.control_plane),
        **_accepted(bundle, Rotated.TALOS_CA),
        "certSANs": list(cluster.cert_sans),
    }


def _accepted(bundle: Bundle, rotated: Rotated) -> dict[str, Any]:
    """Certificates of CAs that are accepted besides the one that signs."""
    others = [{"crt": pair.crt} for pair in bundle.accepted(rotated)]
    return {"acceptedCAs": others} if others else {}


def _machine(cluster: ClusterRequest, node: NodeRequest) -> dict[str, Any]:
    runtime = node.nvidia and cluster.nvidia_runtime
    machine: dict[str, Any] = {
        "kubelet": _kubelet(cluster, node),
        "network": {},
        "install": _install(node),
        "sysctls": dict(nvidia.RUNTIME_SYSCTLS) if runtime else {},
        "features": _features(),
        "kernel": _kernel(node),
        "nodeLabels": ({NO_EXTERNAL_LB: ""} if node.control_plane else {}) | dict(node.labels),
        "nodeTaints": {taint.key: f"{taint.value}:{taint.effect}" for taint in node.taints},
    }
    optional = ["sysctls", "kernel", "nodeLabels", "nodeTaints"]
    if not cluster.contract.has_empty_machine_network:
        optional.append("network")
    return {key: value for key, value in machine.items() if value or key not in optional}


def _kubelet(cluster: ClusterRequest, node: NodeRequest) -> dict[str, Any]:
    kubelet: dict[str, Any] = {
        "image": images.tagged(images.KUBELET, cluster.kubernetes_version),
        "defaultRuntimeSeccompProfileEnabled": True,
        "disableManifestsDirectory": True,
    }
    if cluster.node_subnet:
        kubelet["nodeIP"] = {"validSubnets": [cluster.node_subnet]}
    if node.taints and not node.control_plane:
        # Kubernetes allows a worker to set its taints only when it registers.
        kubelet["extraConfig"] = {
            "registerWithTaints": [
                {"key": t.key, "value": t.value, "effect": t.effect} for t in node.taints
            ]
        }
    return kubelet


def _install(node: NodeRequest) -> dict[str, Any]:
    target = (
        {"disk": node.disk} if isinstance(node.disk, str) else {"diskSelector": dict(node.disk)}
    )
    return {**target, "image": node.installer, "wipe": False, "grubUseUKICmdline": True}


def _features() -> dict[str, Any]:
    return {
        **_DISK_QUOTA,
        "kubePrism": {"enabled": True, "port": KUBEPRISM_PORT},
        "hostDNS": dict(HOST_DNS),
    }


def _kernel(node: NodeRequest) -> dict[str, Any]:
    names = nvidia.kernel_modules(node)
    return {"modules": [{"name": name} for name in names]} if names else {}


def _shared(cluster: ClusterRequest, bundle: Bundle) -> dict[str, Any]:
    network: dict[str, Any] = {} if cluster.cni == "flannel" else {"cni": {"name": cluster.cni}}
    return {
        "id": bundle.cluster_id,
        "secret": bundle.cluster_secret.reveal(),
        "controlPlane": {"endpoint": cluster.endpoint},
        "clusterName": cluster.name,
        "network": network
        | {
            "dnsDomain": cluster.dns_domain,
            "podSubnets": list(cluster.pod_subnets),
            "serviceSubnets": list(cluster.service_subnets),
        },
        "token": bundle.bootstrap_token.reveal(),
        "discovery": {
            "enabled": True,
            "registries": {"kubernetes": {"disabled": True}, "service": {}},
        },
    }


def _worker(_: ClusterRequest, bundle: Bundle) -> dict[str, Any]:
    accepted = _accepted(bundle, Rotated.KUBERNETES_CA)
    return {"ca": _pair(bundle.k8s, with_key=False)} | accepted


def _control_plane(cluster: ClusterRequest, bundle: Bundle) -> dict[str, Any]:
    version = cluster.kubernetes_version
    proxy: dict[str, Any] = {} if cluster.kube_proxy else {"disabled": True}
    parts: dict[str, Any] = {
        "aescbcEncryptionSecret": bundle.aescbc.reveal(),
        "secretboxEncryptionSecret": bundle.secretbox.reveal(),
        "ca": _pair(bundle.k8s, with_key=True),
        **_accepted(bundle, Rotated.KUBERNETES_CA),
        "aggregatorCA": _pair(bundle.aggregator, with_key=True),
        "serviceAccount": {"key": bundle.service_account.reveal()},
        "apiServer": _api_server(cluster),
        "controllerManager": {"image": images.tagged(images.CONTROLLER_MANAGER, version)},
        "proxy": proxy | {"image": images.tagged(images.PROXY, version)},
        "scheduler": {"image": images.tagged(images.SCHEDULER, version)},
        "etcd": _etcd(bundle),
        "inlineManifests": [dict(nvidia.RUNTIME_CLASS)] if cluster.nvidia_runtime else [],
        "allowSchedulingOnControlPlanes": cluster.schedule_on_control_planes,
    }
    return {key: value for key, value in parts.items() if value}


def _api_server(cluster: ClusterRequest) -> dict[str, Any]:
    names = {"certSANs": list(cluster.cert_sans)} if cluster.cert_sans else {}
    return {
        "image": images.tagged(images.APISERVER, cluster.kubernetes_version),
        **names,
        "admissionControl": [{"name": "PodSecurity", "configuration": POD_SECURITY}],
        "auditPolicy": AUDIT_POLICY,
    }


def _etcd(bundle: Bundle) -> dict[str, Any]:
    return {"ca": _pair(bundle.etcd, with_key=True)}


def _pair(pair: Pair, *, with_key: bool) -> dict[str, str]:
    return {"crt": pair.crt, "key": pair.key.reveal() if with_key else ""}

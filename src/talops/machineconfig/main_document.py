"""The v1alpha1 document: what `talosctl gen config` writes, plus what the inventory asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import images

if TYPE_CHECKING:
    from talops.machineconfig.bundle import Bundle
    from talops.machineconfig.pki import Pair
    from talops.machineconfig.request import ClusterRequest, NodeRequest

KUBEPRISM_PORT = 7445
NO_EXTERNAL_LB = "node.kubernetes.io/exclude-from-external-load-balancers"
NVIDIA_MODULES = ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset")
# The NVIDIA container toolkit loads BPF programs; the hardened JIT refuses them.
NVIDIA_SYSCTLS = {"net.core.bpf_jit_harden": "1"}
NVIDIA_RUNTIME_CLASS = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata:
  name: nvidia
handler: nvidia
"""


def main_document(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> dict[str, Any]:
    own = _control_plane if node.control_plane else _worker
    return {
        "version": "v1alpha1",
        "debug": False,
        "persist": True,
        "machine": _machine(cluster, node, bundle),
        "cluster": _shared(cluster, bundle) | own(cluster, bundle),
    }


def _machine(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> dict[str, Any]:
    machine: dict[str, Any] = {
        "type": "controlplane" if node.control_plane else "worker",
        "token": bundle.trustd_token.reveal(),
        "ca": _pair(bundle.os, with_key=node.control_plane),
        "certSANs": list(cluster.cert_sans),
        "kubelet": _kubelet(cluster, node),
        "network": {},
        "install": _install(node),
        "sysctls": dict(NVIDIA_SYSCTLS) if node.nvidia else {},
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
        # Kubernetes lets a worker set its taints only at the moment when it registers.
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
        "diskQuotaSupport": True,
        "kubePrism": {"enabled": True, "port": KUBEPRISM_PORT},
        "hostDNS": {"enabled": True, "forwardKubeDNSToHost": True},
    }


def _kernel(node: NodeRequest) -> dict[str, Any]:
    names = dict.fromkeys([*(NVIDIA_MODULES if node.nvidia else ()), *node.kernel_modules])
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
    return {"ca": _pair(bundle.k8s, with_key=False)}


def _control_plane(cluster: ClusterRequest, bundle: Bundle) -> dict[str, Any]:
    version = cluster.kubernetes_version
    proxy: dict[str, Any] = {} if cluster.kube_proxy else {"disabled": True}
    parts: dict[str, Any] = {
        "aescbcEncryptionSecret": bundle.aescbc.reveal(),
        "secretboxEncryptionSecret": bundle.secretbox.reveal(),
        "ca": _pair(bundle.k8s, with_key=True),
        "aggregatorCA": _pair(bundle.aggregator, with_key=True),
        "serviceAccount": {"key": bundle.service_account.reveal()},
        "apiServer": _api_server(cluster),
        "controllerManager": {"image": images.tagged(images.CONTROLLER_MANAGER, version)},
        "proxy": proxy | {"image": images.tagged(images.PROXY, version)},
        "scheduler": {"image": images.tagged(images.SCHEDULER, version)},
        "etcd": {"ca": _pair(bundle.etcd, with_key=True)},
        "inlineManifests": [_runtime_class()] if cluster.nvidia else [],
        "allowSchedulingOnControlPlanes": cluster.schedule_on_control_planes,
    }
    return {key: value for key, value in parts.items() if value}


def _api_server(cluster: ClusterRequest) -> dict[str, Any]:
    names = {"certSANs": list(cluster.cert_sans)} if cluster.cert_sans else {}
    return {
        "image": images.tagged(images.APISERVER, cluster.kubernetes_version),
        **names,
        "admissionControl": [{"name": "PodSecurity", "configuration": _pod_security()}],
        "auditPolicy": {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [{"level": "Metadata"}],
        },
    }


def _pod_security() -> dict[str, Any]:
    levels = {"audit": "restricted", "enforce": "baseline", "warn": "restricted"}
    return {
        "apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
        "kind": "PodSecurityConfiguration",
        "defaults": levels | {f"{name}-version": "latest" for name in levels},
        "exemptions": {"namespaces": ["kube-system"], "runtimeClasses": [], "usernames": []},
    }


def _runtime_class() -> dict[str, str]:
    return {"name": "nvidia-runtime-class", "contents": NVIDIA_RUNTIME_CLASS}


def _pair(pair: Pair, *, with_key: bool) -> dict[str, str]:
    return {"crt": pair.crt, "key": pair.key.reveal() if with_key else ""}

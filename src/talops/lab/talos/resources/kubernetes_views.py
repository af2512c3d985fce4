"""A node's part in etcd and Kubernetes as COSI resources."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.talos.resources import kinds
from talops.lab.talos.resources.network_views import PREFIX, netip
from talops.lab.talos.resources.store import Item, built

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.config.document import MachineConfig
    from talops.lab.talos.machine.node import Node

_PLANE_LABELS = (
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/exclude-from-external-load-balancers",
)
_PRISM = "127.0.0.1"
_PRISM_PORT = 7445


def node_status(node: Node, config: MachineConfig) -> Item:
    ready, name = node.registration.ready, node.hostname
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        **(dict.fromkeys(_PLANE_LABELS, "") if config.control_plane else {}),
        **config.labels,
    }
    annotations = {
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        **config.annotations,
    }
    if config.control_plane:
        owned = '["' + '","'.join(_PLANE_LABELS) + '"]'
        annotations["talos.dev/owned-labels"] = owned
        annotations["talos.dev/owned-taints"] = f'["{_PLANE_LABELS[0]}"]'
    pods = _pod_network(node, config)
    fields = {
        "nodename": name,
        "node_ready": ready,
        "labels": labels,
        "annotations": annotations,
        "pod_cid_rs": [{**netip(str(pods.network_address)), "prefix_length": PREFIX}],
    }
    yaml = {
        "nodename": name,
        "nodeReady": ready,
        "unschedulable": False,
        "labels": labels,
        "annotations": annotations,
        "podCIDRs": [str(pods)],
    }
    return built(kinds.NODE_STATUS, name, "k8s.NodeStatusSpec", fields, yaml)


def _pod_network(node: Node, config: MachineConfig) -> ipaddress.IPv4Network:
    """A /24 of the pods' network by the last number of the node's address."""
    whole = ipaddress.IPv4Network(config.pod_cidrs[0])
    number = int(node.addresses[0].rpartition(".")[2]) if node.addresses else 0
    offset = (number << 8) % whole.num_addresses
    return ipaddress.IPv4Network((int(whole.network_address) + offset, PREFIX))


def control_plane(node: Node, config: MachineConfig) -> Iterator[Item]:
    yield _manifests(config)
    identifier = node.control_plane.member_id
    if identifier:
        text = f"{identifier:016x}"
        yield built(
            kinds.ETCD_MEMBER, "local", "etcd.MemberSpec", {"member_id": text}, {"memberID": text}
        )
    for component, pod in node.control_plane.serving.pods().items():
        status = _pod_status(node, component, pod.image)
        name = f"kube-system/{component}-{node.hostname}"
        fields = {"pod_status": status}
        yield built(kinds.STATIC_PODS, name, "k8s.StaticPodStatusSpec", fields, status)


def _manifests(config: MachineConfig) -> Item:
    """Health checks read from it whether a CNI and kube-proxy are to be expected."""
    network = config.cluster.get("network") or {}
    cni = str((network.get("cni") or {}).get("name", "flannel"))
    proxy, dns = config.cluster.get("proxy") or {}, config.cluster.get("coreDNS") or {}
    version, pods = config.kubelet_version, list(config.pod_cidrs)
    service = ipaddress.ip_network(config.service_cidrs[0])
    args = [
        f"--cluster-cidr={pods[0]}",
        "--hostname-override=$(NODE_NAME)",
        "--proxy-mode=nftables",
    ]
    fields: dict[str, Any] = {
        "server": f"https://{_PRISM}:{_PRISM_PORT}",
        "cluster_domain": str(network.get("dnsDomain", "cluster.local")),
        "pod_cid_rs": pods,
        "proxy_enabled": not proxy.get("disabled"),
        "proxy_image": str(proxy.get("image", f"registry.k8s.io/kube-proxy:{version}")),
        "proxy_args": args,
        "core_dns_enabled": not dns.get("disabled"),
        "core_dns_image": "registry.k8s.io/coredns/coredns:v1.14.6",
        "dns_service_ip": str(service.network_address + 10),
        "flannel_enabled": cni == "flannel",
        "flannel_image": "ghcr.io/siderolabs/flannel:0.28.8",
        "flannel_kube_service_host": _PRISM,
        "flannel_kube_service_port": str(_PRISM_PORT),
        "flannel_kube_network_policies_image": (
            "registry.k8s.io/networking/kube-network-policies:v1.1.0"
        ),
        "cni_name": cni,
    }
    yaml = {
        "string": fields["server"],
        "clusterDomain": fields["cluster_domain"],
        "podCIDRs": pods,
        "proxyEnabled": fields["proxy_enabled"],
        "proxyImage": fields["proxy_image"],
        "proxyArgs": args,
        "coreDNSEnabled": fields["core_dns_enabled"],
        "coreDNSImage": fields["core_dns_image"],
        "dnsServiceIP": fields["dns_service_ip"],
        "dnsServiceIPv6": "",
        "flannelEnabled": fields["flannel_enabled"],
        "flannelImage": fields["flannel_image"],
        "flannelExtraArgs": [],
        "flannelKubeServiceHost": _PRISM,
        "flannelKubeServicePort": str(_PRISM_PORT),
        "flannelKubeNetworkPoliciesEnabled": False,
        "flannelKubeNetworkPoliciesImage": fields["flannel_kube_network_policies_image"],
        "podSecurityPolicyEnabled": False,
        "talosAPIServiceEnabled": False,
        "cniName": cni,
    }
    return built(kinds.MANIFESTS, "manifests", "k8s.BootstrapManifestsConfigSpec", fields, yaml)


_CONDITIONS = (
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
)  # fmt: skip


def _pod_status(node: Node, component: str, image: str) -> dict[str, Any]:
    """As a kubelet reports a static pod that runs."""
    since, address = node.started_text, node.addresses[0] if node.addresses else ""
    wants = {"cpu": "200m", "memory": "512Mi"}
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
        for kind in _CONDITIONS
    ]
    mounts = [
        {
            "name": name,
            "mountPath": f"/system/{name}/kubernetes/{component}",
            "readOnly": True,
            "recursiveReadOnly": "Disabled",
        }
        for name in ("secrets", "config")
    ]
    container = {
        "name": component,
        "allocatedResources": wants,
        "containerID": f"containerd://{node.boot_id}",
        "image": image,
        "imageID": f"{image}@sha256:lab",
        "lastState": {},
        "ready": True,
        "resources": {"requests": wants},
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": since}},
        "user": {"linux": {"gid": 65534, "supplementalGroups": [65534], "uid": 65534}},
        "volumeMounts": mounts,
    }
    return {
        "allocatedResources": wants,
        "conditions": conditions,
        "containerStatuses": [container],
        "hostIP": address,
        "hostIPs": [{"ip": address}],
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "resources": {"requests": wants},
        "startTime": since,
    }

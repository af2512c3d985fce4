"""Contract 1.14: each wish lands in the document that took the place of the field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.patches.reading import parse_patch
from talops.machineconfig.patches.twins import TWINS, conflicts
from talops.machineconfig.request import ClusterRequest, DiskKey, NodeRequest, Taint
from talops.machineconfig.secrets import pem
from talops.machineconfig.validation import find_problems
from talops.redaction import Redactor, Secret

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

CLUSTER = ClusterRequest("demo", Contract.V1_14, "https://10.5.0.10:6443", "1.36.3")
WORKER = NodeRequest("w-1", control_plane=False, installer="installer:v1", disk="/dev/vda")
CONTROL_PLANE = replace(WORKER, name="cp-1", control_plane=True)
NETWORKED: dict[str, Any] = {"mac": "BC:24:11:00:00:01", "address": "10.20.0.11/24"}
ROLE = "node-role.kubernetes.io/control-plane"
LB = "node.kubernetes.io/exclude-from-external-load-balancers"
HOST_DNS = {"enabled": True, "forwardKubeDNSToHost": True}


def built(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> list[dict[str, Any]]:
    """The documents as a node would read them; valid, and each setting at one place only."""
    config = generate(cluster, node, bundle)
    documents = yamltext.load_all(config.to_yaml(), where=node.name)
    assert find_problems(documents, cluster.contract) == []
    return documents


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in document.items() if key not in {"apiVersion", "kind"}}
        for document in documents
        if document.get("kind") == kind
    ]


SELECTOR = {"serial": "S3Z"}
REAL = 'disk.transport != "" && !disk.readonly && !disk.cdrom'
TAINTS = (Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("slow", "", "NoExecute"))
ENCRYPTION = {"provider": "luks2", "keys": [{"slot": 0, "tpm": {}}]}
ROWS: list[tuple[dict[str, Any], dict[str, Any], bool, str, list[dict[str, Any]]]] = [
    # cluster's wish, node's wish, control plane, kind, the documents of that kind
    ({}, {"disk": SELECTOR}, False, "UnattendedInstallConfig",
     [{"installer": {"image": "installer:v1"}, "provisioning": {
         "diskSelector": {"match": f'glob("S3Z", disk.serial) && {REAL}'}, "wipe": False}}]),
    ({}, {"kernel_modules": ("drbd",)}, False, "KernelModuleConfig", [{"name": "drbd"}]),
    ({}, {"nvidia": True}, False, "KernelModuleConfig",
     [{"name": n} for n in ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset")]),
    ({}, {"nvidia": True}, False, "SysctlConfig", []),
    ({}, {"nvidia": True}, True, "KubeInlineManifestConfig", []),
    ({}, {"labels": {"a.b/c": "d"}}, False, "KubeNodeConfig", [{"labels": {"a.b/c": "d"}}]),
    ({}, {}, False, "KubeNodeConfig", [{}]),
    ({"node_subnet": "10.0.0.0/8"}, {"taints": TAINTS}, False, "KubeNodeConfig",
     [{"nodeIP": {"validSubnets": ["10.0.0.0/8"]},
       "taints": {"nvidia.com/gpu": "present:NoSchedule", "slow": ":NoExecute"}}]),
    ({}, {"labels": {"a": "b"}}, True, "KubeNodeConfig",
     [{"labels": {ROLE: "", LB: "", "a": "b"}, "taints": {ROLE: "NoSchedule"}}]),
    ({"schedule_on_control_planes": True}, {}, True, "KubeNodeConfig",
     [{"labels": {ROLE: "", LB: ""}}]),
    ({}, {"taints": TAINTS}, False, "KubeletConfig",
     [{"image": "ghcr.io/siderolabs/kubelet:v1.36.3",
       "defaultRuntimeSeccompProfileEnabled": True}]),
    ({"cert_sans": ("a.b",)}, {}, True, "KubeAPIServerConfig",
     [{"image": "registry.k8s.io/kube-apiserver:v1.36.3", "certExtraSANs": ["a.b"]}]),
    ({"pod_subnets": ("10.42.0.0/16",), "dns_domain": "k8s.example"}, {}, False,
     "KubeNetworkConfig",
     [{"dnsDomain": "k8s.example", "podSubnets": ["10.42.0.0/16"],
       "serviceSubnets": ["10.96.0.0/12"]}]),
    ({"cni": "none"}, {}, True, "KubeFlannelCNIConfig", []),
    ({}, {}, True, "KubeFlannelCNIConfig", [{"backendType": "vxlan", "backendPort": 4789}]),
    ({"kube_proxy": False}, {}, True, "KubeProxyConfig",
     [{"enabled": False, "image": "registry.k8s.io/kube-proxy:v1.36.3"}]),
    ({"dns": ("10.20.0.2",)}, {}, False, "ResolverConfig",
     [{"nameservers": [{"address": "10.20.0.2"}], "hostDNS": HOST_DNS}]),
    ({}, {"disk_key": DiskKey.TPM}, False, "VolumeConfig",
     [{"name": "STATE", "encryption": ENCRYPTION},
      {"name": "EPHEMERAL", "mount": {"secure": True}, "encryption": ENCRYPTION}]),
    ({"vip": "10.20.0.5"}, NETWORKED, True, "Layer2VIPConfig",
     [{"name": "10.20.0.5", "link": "net0"}]),
    ({"vlan": 20}, NETWORKED, False, "VLANConfig",
     [{"name": "net0.20", "vlanID": 20, "parent": "net0",
       "addresses": [{"address": "10.20.0.11/24"}]}]),
    ({"registry_mirrors": {"docker.io": ("http://10.0.0.9:5000",)}}, {}, False,
     "RegistryMirrorConfig",
     [{"name": "docker.io", "endpoints": [{"url": "http://10.0.0.9:5000"}]}]),
    ({}, {}, False, "KubePrismConfig", [{"port": 7445}]),
]  # fmt: skip


@pytest.mark.parametrize(("cluster", "node", "control_plane", "kind", "wanted"), ROWS)
def test_wishes(
    bundle: Bundle,
    cluster: dict[str, Any],
    node: dict[str, Any],
    control_plane: bool,
    kind: str,
    wanted: list[dict[str, Any]],
) -> None:
    """The whole document, and none where the role or the wish needs none."""
    base = CONTROL_PLANE if control_plane else WORKER
    documents = built(replace(CLUSTER, **cluster), replace(base, **node), bundle)
    assert of_kind(documents, kind) == wanted


def test_the_main_document_keeps_what_has_no_other_place(bundle: Bundle) -> None:
    """None of the settings that have a document of their own is left in it."""
    main = built(CLUSTER, CONTROL_PLANE, bundle)[0]
    assert set(main["machine"]) == {"type", "token", "ca", "certSANs", "features"}
    assert set(main["cluster"]) == {"token", "etcd"}
    everything = [{"kind": twin.kind, "name": twin.name, twin.field: "x"} for twin in TWINS]
    assert list(conflicts([main, *everything])) == []


def test_the_old_encryption_secret_stays_readable(bundle: Bundle) -> None:
    """Values in etcd name provider and key; both keep the names that older Talos gave them."""
    old = replace(bundle, aescbc=Secret("b2xk"))
    [encryption] = of_kind(built(CLUSTER, CONTROL_PLANE, old), "KubeEtcdEncryptionConfig")
    [resource] = encryption["config"]["resources"]
    assert resource["providers"] == [
        {"secretbox": {"keys": [{"name": "key2", "secret": bundle.secretbox.reveal()}]}},
        {"aescbc": {"keys": [{"name": "key1", "secret": "b2xk"}]}},
    ]


def test_workers_hold_no_keys(bundle: Bundle) -> None:
    """A stolen worker disk must not give away the cluster."""
    text = generate(CLUSTER, WORKER, bundle).to_yaml()
    for pair in (bundle.os, bundle.k8s, bundle.etcd, bundle.aggregator):
        assert pair.key.reveal() not in text
    assert "PRIVATE KEY" not in text
    assert bundle.secretbox.reveal() not in text


def test_keys_are_masked_wherever_the_config_is_shown(bundle: Bundle) -> None:
    """The documents hold PEM as it is, which is masked as well as one line of base64."""
    text = generate(CLUSTER, CONTROL_PLANE, bundle).to_yaml()
    shown = Redactor(bundle.secrets())(text)
    lines = {line.strip() for line in shown.splitlines()}
    for pair in (bundle.os, bundle.k8s, bundle.etcd, bundle.aggregator):
        assert pair.key.reveal() not in shown
        key = pem.from_one_line(pair.key.reveal()).decode().splitlines()[1:-1]
        assert lines.isdisjoint(key)
    account = pem.from_one_line(bundle.service_account.reveal()).decode().splitlines()[1:-1]
    assert lines.isdisjoint(account)
    assert bundle.secretbox.reveal() not in shown


def test_patches_of_documents(bundle: Bundle) -> None:
    """A patch names the document; lists grow, subnets are replaced, arguments are replaced."""
    text = """\
apiVersion: v1alpha1
kind: KubeAPIServerConfig
certExtraSANs: [more.example]
extraArgs: {v: "4"}
---
apiVersion: v1alpha1
kind: KubeNetworkConfig
podSubnets: [10.42.0.0/16]
---
apiVersion: v1alpha1
kind: KubeNodeConfig
labels:
  node.kubernetes.io/exclude-from-external-load-balancers: {$patch: delete}
---
apiVersion: v1alpha1
kind: DiscoveryServiceConfig
name: default
$patch: delete
"""
    patch = parse_patch(text, where="p.yaml")
    cluster = replace(CLUSTER, cert_sans=("a.b",), control_plane_patches=(patch,))
    documents = built(cluster, CONTROL_PLANE, bundle)
    [server] = of_kind(documents, "KubeAPIServerConfig")
    assert (server["certExtraSANs"], server["extraArgs"]) == (["a.b", "more.example"], {"v": "4"})
    assert of_kind(documents, "KubeNetworkConfig")[0]["podSubnets"] == ["10.42.0.0/16"]
    assert of_kind(documents, "KubeNodeConfig")[0]["labels"] == {ROLE: ""}
    assert of_kind(documents, "DiscoveryServiceConfig") == []

"""Patches for the other shape are refused with the place where their setting belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.patches.reading import parse_patch
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

NODE = NodeRequest("cp-1", control_plane=True, installer="installer:v1", disk="/dev/vda")


def cluster(contract: Contract, patch: str) -> ClusterRequest:
    made = ClusterRequest("demo", contract, "https://10.5.0.10:6443", "1.36.3")
    return replace(made, patches=(parse_patch(patch, where="patches[0]"),))


@pytest.mark.parametrize(
    ("patch", "path", "place"),
    [
        ("machine: {kubelet: {extraArgs: {v: '4'}}}", "machine.kubelet.extraArgs",
         "KubeletConfig.extraArgs"),
        ("machine: {kubelet: {extraConfig: {maxPods: 200}}}", "machine.kubelet.extraConfig",
         "KubeletConfig.config"),
        ("machine: {kubelet: {nodeIP: {validSubnets: [10.0.0.0/8]}}}", "machine.kubelet.nodeIP",
         "KubeNodeConfig.nodeIP"),
        ("machine: {nodeLabels: {a: b}}", "machine.nodeLabels", "KubeNodeConfig.labels"),
        ("machine: {nodeLabels: {a: {$patch: delete}}}", "machine.nodeLabels",
         "KubeNodeConfig.labels"),
        ("machine: {install: {image: a:v1}}", "machine.install.image",
         "UnattendedInstallConfig.installer.image"),
        ("machine: {install: {extraKernelArgs: [a]}}", "machine.install.extraKernelArgs",
         "the image, by talops talos schematic --kernel-arg"),
        ("machine: {features: {hostDNS: {enabled: false}}}", "machine.features.hostDNS",
         "ResolverConfig.hostDNS"),
        ("machine: {features: {kubePrism: {enabled: false}}}", "machine.features.kubePrism",
         "KubePrismConfig"),
        ("cluster: {apiServer: {certSANs: [a]}}", "cluster.apiServer.certSANs",
         "KubeAPIServerConfig.certExtraSANs"),
        ("cluster: {apiServer: {auditPolicy: {a: b}}}", "cluster.apiServer.auditPolicy",
         "KubeAuditPolicyConfig.configuration"),
        ("cluster: {proxy: {disabled: true}}", "cluster.proxy.disabled",
         "KubeProxyConfig.enabled"),
        ("cluster: {network: {cni: {name: none}}}", "cluster.network.cni",
         "KubeFlannelCNIConfig: without one"),
        ("cluster: {network: {podSubnets: [10.1.0.0/16]}}", "cluster.network.podSubnets",
         "KubeNetworkConfig.podSubnets"),
        ("cluster: {discovery: {enabled: false}}", "cluster.discovery.enabled",
         "DiscoveryServiceConfig: without one"),
        ("cluster: {allowSchedulingOnControlPlanes: true}", "cluster.allowSchedulingOn",
         "allow_scheduling_on_control_planes"),
    ],
)  # fmt: skip
def test_an_old_patch_on_the_new_shape(bundle: Bundle, patch: str, path: str, place: str) -> None:
    """What stands in a document of its own is refused in the main one, with the new name."""
    with pytest.raises(TalopsError) as caught:
        generate(cluster(Contract.V1_14, patch), NODE, bundle)
    assert path in caught.value.what
    assert caught.value.where == "patches[0]"
    assert place in (caught.value.hint or "")


@pytest.mark.parametrize(
    "patch", ["machine: {nodeLabels: {a: b}}", "cluster: {apiServer: {certSANs: [a]}}"]
)
def test_an_old_patch_on_the_old_shape(bundle: Bundle, patch: str) -> None:
    """Up to contract 1.13 the main document is the place."""
    config = generate(cluster(Contract.V1_13, patch), NODE, bundle)
    assert find_problems(config.documents, Contract.V1_13) == []


def test_what_has_no_counterpart(bundle: Bundle) -> None:
    """Where nothing took its place, the hint says so instead of naming a document."""
    patch = "machine: {kubelet: {extraMounts: [{destination: /a, source: /b, type: bind}]}}"
    with pytest.raises(TalopsError) as caught:
        generate(cluster(Contract.V1_14, patch), NODE, bundle)
    assert caught.value.hint == "Talos 1.14 removed this setting"


@pytest.mark.parametrize(
    "patch",
    [
        "machine: {sysctls: {a.b: '1'}}",
        "machine: {kernel: {modules: [{name: drbd}]}}",
        "machine: {files: [{path: /var/a, content: b, op: create, permissions: 420}]}",
        "machine: {env: {a: b}}",
        "machine: {features: {imageCache: {localEnabled: true}}}",
        "cluster: {etcd: {extraArgs: {quota-backend-bytes: '1'}}}",
        "cluster: {inlineManifests: [{name: a, contents: b}]}",
    ],
)
def test_an_old_patch_that_talos_still_takes(bundle: Bundle, patch: str) -> None:
    """Deprecated is not refused: the field is honoured beside the documents."""
    config = generate(cluster(Contract.V1_14, patch), NODE, bundle)
    assert find_problems(config.documents, Contract.V1_14) == []


@pytest.mark.parametrize(
    ("kind", "rest", "place"),
    [
        ("KubeletConfig", "image: a:v1", "machine.kubelet"),
        ("KubeNodeConfig", "labels: {a: b}", "machine.nodeLabels"),
        ("UnattendedInstallConfig", "reboot: true", "machine.install"),
        ("ResolverConfig", "hostDNS: {enabled: false}", "machine.features.hostDNS"),
        ("KubeAPIServerConfig", "certExtraSANs: [a]", "cluster.apiServer"),
    ],
)
def test_a_new_patch_on_the_old_shape(bundle: Bundle, kind: str, rest: str, place: str) -> None:
    """A document is refused where the main one holds its settings."""
    patch = f"apiVersion: v1alpha1\nkind: {kind}\n{rest}\n"
    with pytest.raises(TalopsError) as caught:
        generate(cluster(Contract.V1_13, patch), NODE, bundle)
    assert kind in caught.value.what
    assert place in (caught.value.hint or "")


def test_a_new_document_on_the_old_shape(bundle: Bundle) -> None:
    """One that nothing conflicts with is taken, if the node's Talos can read it."""
    patch = "apiVersion: v1alpha1\nkind: SysctlConfig\nparams: {a.b: '1'}\n"
    config = generate(cluster(Contract.V1_13, patch), NODE, bundle)
    assert find_problems(config.documents, Contract.V1_14) == []
    [problem] = find_problems(config.documents, Contract.V1_13)
    assert "supported from Talos 1.14 on" in problem


def test_giving_a_document_up_for_the_field(bundle: Bundle) -> None:
    """A patch that deletes the document may use the field, as with Talos itself."""
    patch = """\
apiVersion: v1alpha1
kind: KubeletConfig
$patch: delete
---
machine: {kubelet: {image: "kubelet:v1"}}
"""
    config = generate(cluster(Contract.V1_14, patch), NODE, bundle)
    assert find_problems(config.documents, Contract.V1_14) == []

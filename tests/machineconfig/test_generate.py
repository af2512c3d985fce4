"""Generated configs: equal to Talos' own where nothing is asked for, and each wish on top."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.images import installer
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.patches.reading import parse_patch
from talops.machineconfig.request import ClusterRequest, DiskKey, NodeRequest, Taint
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.machineconfig.secrets.bundle import Bundle

BASE_FILE = Path(__file__).parent / "base_config.yaml"
BASE = yamltext.load(BASE_FILE.read_text(encoding="utf-8"), where=BASE_FILE.name)
CLUSTER = ClusterRequest("demo", Contract.V1_13, "https://10.5.0.10:6443", "1.35.2")
WORKER = NodeRequest("w-1", control_plane=False, installer="installer:v1", disk="/dev/vda")
CONTROL_PLANE = replace(WORKER, name="cp-1", control_plane=True)
NETWORKED: dict[str, Any] = {"mac": "BC:24:11:00:00:01", "address": "10.20.0.11/24"}


def expected(contract: Contract, *, control_plane: bool) -> list[dict[str, Any]]:
    if contract.splits_documents:
        role = "controlplane" if control_plane else "worker"
        path = BASE_FILE.with_name(f"base_config_1_14_{role}.yaml")
        return yamltext.load_all(path.read_text(encoding="utf-8"), where=path.name)
    main = BASE["worker"]
    machine, cluster = main["machine"], main["cluster"]
    if control_plane:
        machine = machine | BASE["controlplane machine"]
        cluster = cluster | BASE["controlplane cluster"]
    if contract is Contract.V1_12:
        machine = machine | BASE["1.12 only"]
    return [main | {"machine": machine, "cluster": cluster}, *BASE["others"]]


def built(cluster: ClusterRequest, node: NodeRequest, bundle: Bundle) -> list[dict[str, Any]]:
    """The documents as a node would read them; they are valid, too."""
    config = generate(cluster, node, bundle)
    documents = yamltext.load_all(config.to_yaml(), where=node.name)
    assert find_problems(documents, cluster.contract) == []
    return documents


def kind(documents: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Documents of a kind, without their header."""
    return [
        {key: value for key, value in document.items() if key not in {"apiVersion", "kind"}}
        for document in documents
        if document.get("kind") == name
    ]


def at(document: Any, path: str) -> Any:
    for part in path.split(" "):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def meaning(documents: list[dict[str, Any]]) -> dict[Any, Any]:
    """By identity: neither the order of documents nor an empty section says anything."""

    def said(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: kept for k, v in value.items() if (kept := said(v)) not in ({}, [])}
        return value

    return {identify(document): said(document) for document in documents}


@pytest.mark.parametrize("contract", list(Contract))
@pytest.mark.parametrize("control_plane", [True, False])
def test_equal_to_talos_own(
    bundle: Bundle, masked: Callable[[Any], Any], contract: Contract, control_plane: bool
) -> None:
    """With nothing asked for, the config is what Talos' generator makes of the same secrets."""
    node = CONTROL_PLANE if control_plane else WORKER
    documents = masked(built(replace(CLUSTER, contract=contract), node, bundle))
    wanted = expected(contract, control_plane=control_plane)
    if contract.splits_documents:
        assert meaning(documents) == meaning(wanted)
    else:
        assert documents == wanted


SELECTOR = {"serial": "S3Z", "size": ">= 100GB"}
SCHEDULED = {"schedule_on_control_planes": True}
MAIN_ROWS: list[tuple[dict[str, Any], dict[str, Any], bool, str, Any]] = [
    # cluster's wish, node's wish, control plane, place, value there
    ({}, {"disk": SELECTOR}, False, "machine install diskSelector", SELECTOR),
    ({}, {"disk": SELECTOR}, False, "machine install disk", None),
    ({}, {"kernel_modules": ("drbd",)}, False, "machine kernel modules", [{"name": "drbd"}]),
    ({}, {"labels": {"a.b/c": "d"}}, False, "machine nodeLabels", {"a.b/c": "d"}),
    ({"cert_sans": ("a.b",)}, {}, False, "machine certSANs", ["a.b"]),
    ({"cert_sans": ("a.b",)}, {}, True, "cluster apiServer certSANs", ["a.b"]),
    ({"node_subnet": "10.0.0.0/8"}, {}, False, "machine kubelet nodeIP",
     {"validSubnets": ["10.0.0.0/8"]}),
    ({"pod_subnets": ("10.42.0.0/16",)}, {}, False, "cluster network podSubnets", ["10.42.0.0/16"]),
    ({"service_subnets": ("10.43.0.0/16",)}, {}, True, "cluster network serviceSubnets",
     ["10.43.0.0/16"]),
    ({"cni": "none"}, {}, True, "cluster network cni name", "none"),
    ({"cni": "none"}, {}, False, "cluster network cni name", "none"),
    ({"kube_proxy": False}, {}, True, "cluster proxy disabled", True),
    ({"kube_proxy": False}, {}, False, "cluster proxy", None),
    (SCHEDULED, {}, True, "cluster allowSchedulingOnControlPlanes", True),
    (SCHEDULED, {}, False, "cluster allowSchedulingOnControlPlanes", None),
    ({"nvidia_runtime": True}, {"nvidia": True}, False, "machine sysctls",
     {"net.core.bpf_jit_harden": "1"}),
    ({}, {"nvidia": True}, False, "machine sysctls", None),
    ({"nvidia_runtime": True}, {}, False, "cluster inlineManifests", None),
    ({}, {"nvidia": True}, True, "cluster inlineManifests", None),
    ({"dns_domain": "k8s.example"}, {}, True, "cluster network dnsDomain", "k8s.example"),
]  # fmt: skip


@pytest.mark.parametrize(("cluster", "node", "control_plane", "place", "value"), MAIN_ROWS)
def test_wishes_in_the_main_document(
    bundle: Bundle,
    cluster: dict[str, Any],
    node: dict[str, Any],
    control_plane: bool,
    place: str,
    value: Any,
) -> None:
    """Each wish lands at its place, and only on the role that it concerns."""
    base = CONTROL_PLANE if control_plane else WORKER
    documents = built(replace(CLUSTER, **cluster), replace(base, **node), bundle)
    assert at(documents[0], place) == value


def test_static_network(bundle: Bundle) -> None:
    """The link is found by its MAC address; address, route, MTU, resolvers and time follow."""
    cluster = replace(CLUSTER, gateway="10.20.0.1", dns=("10.20.0.2",), ntp=("10.20.0.3",))
    node = replace(WORKER, hostname="w-1", mtu=9000, **NETWORKED)
    documents = built(cluster, node, bundle)
    assert kind(documents, "HostnameConfig") == [{"auto": "off", "hostname": "w-1"}]
    match = 'mac(link.permanent_addr) == "bc:24:11:00:00:01"'
    assert kind(documents, "LinkAliasConfig") == [{"name": "net0", "selector": {"match": match}}]
    assert kind(documents, "LinkConfig") == [
        {
            "name": "net0",
            "mtu": 9000,
            "addresses": [{"address": "10.20.0.11/24"}],
            "routes": [{"gateway": "10.20.0.1"}],
        }
    ]
    assert kind(documents, "ResolverConfig") == [{"nameservers": [{"address": "10.20.0.2"}]}]
    assert kind(documents, "TimeSyncConfig") == [{"ntp": {"servers": ["10.20.0.3"]}}]
    assert kind(documents, "VLANConfig") == []


def test_vlan_link(bundle: Bundle) -> None:
    """Where Talos makes the VLAN, the address and the VIP are on it, and the NIC is only up."""
    cluster = replace(CLUSTER, gateway="10.20.0.1", vlan=20, vip="10.20.0.5")
    documents = built(cluster, replace(CONTROL_PLANE, mtu=1400, **NETWORKED), bundle)
    assert kind(documents, "LinkConfig") == [{"name": "net0", "up": True, "mtu": 1400}]
    assert kind(documents, "VLANConfig") == [
        {
            "name": "net0.20",
            "vlanID": 20,
            "parent": "net0",
            "mtu": 1400,
            "addresses": [{"address": "10.20.0.11/24"}],
            "routes": [{"gateway": "10.20.0.1"}],
        }
    ]
    assert kind(documents, "Layer2VIPConfig") == [{"name": "10.20.0.5", "link": "net0.20"}]


def test_vip_on_control_planes_only(bundle: Bundle) -> None:
    """A worker that takes the VIP would answer for an API server that it does not have."""
    cluster = replace(CLUSTER, vip="10.20.0.5")
    on_control_plane = built(cluster, replace(CONTROL_PLANE, **NETWORKED), bundle)
    on_worker = built(cluster, replace(WORKER, **NETWORKED), bundle)
    assert kind(on_control_plane, "Layer2VIPConfig") == [{"name": "10.20.0.5", "link": "net0"}]
    assert kind(on_worker, "Layer2VIPConfig") == []


@pytest.mark.parametrize("key", list(DiskKey))
def test_disk_encryption(bundle: Bundle, key: DiskKey) -> None:
    """Both system volumes are encrypted, with the key that was asked for."""
    documents = built(CLUSTER, replace(WORKER, disk_key=key), bundle)
    encryption = {"provider": "luks2", "keys": [{"slot": 0, key.value: {}}]}
    assert kind(documents, "VolumeConfig") == [
        {"name": "STATE", "encryption": encryption},
        {"name": "EPHEMERAL", "encryption": encryption},
    ]


def test_registry_mirrors(bundle: Bundle) -> None:
    """Each mirrored registry has its document."""
    mirrors = {"docker.io": ("http://10.0.0.9:5000",), "ghcr.io": ("https://a.b", "https://c.d")}
    documents = built(replace(CLUSTER, registry_mirrors=mirrors), WORKER, bundle)
    assert kind(documents, "RegistryMirrorConfig") == [
        {"name": "docker.io", "endpoints": [{"url": "http://10.0.0.9:5000"}]},
        {"name": "ghcr.io", "endpoints": [{"url": "https://a.b"}, {"url": "https://c.d"}]},
    ]


def test_gpu(bundle: Bundle) -> None:
    """NVIDIA's modules load where the GPU is; the runtime class comes with the control plane."""
    cluster = replace(CLUSTER, nvidia_runtime=True)
    node = replace(WORKER, nvidia=True, kernel_modules=("nvidia", "drbd"))
    modules = at(built(cluster, node, bundle)[0], "machine kernel modules")
    names = ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "drbd"]
    assert modules == [{"name": name} for name in names]
    [manifest] = at(built(cluster, CONTROL_PLANE, bundle)[0], "cluster inlineManifests")
    runtime = yamltext.load(manifest["contents"], where="manifest")
    assert (runtime["kind"], runtime["handler"]) == ("RuntimeClass", "nvidia")


def test_taints(bundle: Bundle) -> None:
    """A worker registers with its taints, because Kubernetes lets it set them at no other time."""
    taints = (Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("slow", "", "NoExecute"))
    worker = built(CLUSTER, replace(WORKER, taints=taints), bundle)[0]
    assert at(worker, "machine nodeTaints") == {
        "nvidia.com/gpu": "present:NoSchedule",
        "slow": ":NoExecute",
    }
    assert at(worker, "machine kubelet extraConfig registerWithTaints") == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "slow", "value": "", "effect": "NoExecute"},
    ]
    control_plane = built(CLUSTER, replace(CONTROL_PLANE, taints=taints), bundle)[0]
    assert at(control_plane, "machine kubelet extraConfig") is None


def test_patches_of_cluster_role_and_node(bundle: Bundle) -> None:
    """Patches apply in this order: cluster, role, node; another role's never."""

    def label(value: str) -> Any:
        text = f"machine:\n  nodeLabels: {{from: {value}, {value}: x}}\n"
        return (parse_patch(text, where=value),)

    cluster = replace(
        CLUSTER,
        patches=label("cluster"),
        control_plane_patches=label("controllers"),
        worker_patches=label("workers"),
    )
    worker = built(cluster, replace(WORKER, patches=label("node")), bundle)[0]
    assert at(worker, "machine nodeLabels") == {
        "from": "node",
        "cluster": "x",
        "workers": "x",
        "node": "x",
    }
    control_plane = built(cluster, CONTROL_PLANE, bundle)[0]
    assert at(control_plane, "machine nodeLabels from") == "controllers"
    assert at(control_plane, "machine nodeLabels workers") is None


def test_a_config_prints_nothing_secret(bundle: Bundle) -> None:
    """Repr names the node and nothing else."""
    shown = repr(generate(CLUSTER, CONTROL_PLANE, bundle))
    assert "cp-1" in shown
    assert not any(secret.reveal() in shown for secret in bundle.secrets() if secret)


def test_workers_hold_no_keys(bundle: Bundle) -> None:
    """A stolen worker disk must not give away the cluster."""
    text = generate(CLUSTER, WORKER, bundle).to_yaml()
    for pair in (bundle.os, bundle.k8s, bundle.etcd, bundle.aggregator):
        assert pair.key.reveal() not in text
    assert bundle.service_account.reveal() not in text
    assert bundle.secretbox.reveal() not in text


@pytest.mark.parametrize(
    ("factory", "secureboot", "platform", "image"),
    [
        ("https://factory.talos.dev", False, "nocloud", "factory.talos.dev/nocloud-installer/abc"),
        ("factory.talos.dev", False, "metal", "factory.talos.dev/metal-installer/abc"),
        ("http://127.0.0.1:80/", True, "metal", "127.0.0.1:80/metal-installer-secureboot/abc"),
    ],
)
def test_installer(factory: str, secureboot: bool, platform: str, image: str) -> None:
    """The installer names factory, platform, SecureBoot, schematic and version."""
    for version in ("v1.12.4", "1.12.4"):
        found = installer(factory, "abc", version, platform=platform, secureboot=secureboot)
        assert found == f"{image}:v1.12.4"


@pytest.mark.parametrize(
    ("version", "contract"),
    [("v1.12.4", "1.12"), ("1.13.9", "1.13"), ("v1.14.0-rc.1", "1.14"), ("v2.0.0", "1.14")],
)
def test_contract_of_a_version(version: str, contract: str) -> None:
    """The newest contract that the version reads; newer Talos reads the older ones."""
    assert Contract.for_version(version) is Contract(contract)

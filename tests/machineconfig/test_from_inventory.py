"""From inventory files to what generation is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import InventoryError, TalopsError
from talops.inventory.load import load
from talops.machineconfig.build import build_configs
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import Requests, requests
from talops.machineconfig.request import DiskKey, Taint

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle

CLUSTER = """\
cluster_name: demo
talos_version: v1.12.4
kubernetes_version: v1.35.2
node_cidr: 10.20.0.0/24
cluster_api_addr: 10.20.0.5
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
"""
NODES = """\
nodes:
  - name: cp-1
    address: 10.20.0.11
    controller: true
    mac_addr: BC:24:11:00:00:01
"""


def cluster(tmp_path: Path, more_cluster: str = "", more_node: str = "") -> Cluster:
    (tmp_path / "cluster.yaml").write_text(CLUSTER + more_cluster, encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(NODES + more_node, encoding="utf-8")
    loaded = load(tmp_path)
    assert loaded.cluster is not None, [str(problem) for problem in loaded.problems]
    return loaded.cluster


def asked(tmp_path: Path, more_cluster: str = "", more_node: str = "") -> Requests:
    found = cluster(tmp_path, more_cluster, more_node)
    return requests(found, lambda name: (tmp_path / name).read_text(encoding="utf-8"))


CLUSTER_ROWS: list[tuple[str, str, Any]] = [
    ("", "contract", Contract.V1_12),
    ("talos_contract: v1.12\n", "contract", Contract.V1_12),
    ("", "endpoint", "https://10.20.0.5:6443"),
    ("", "kubernetes_version", "1.35.2"),
    ("cluster_api_tls_sans: [a.example]\n", "cert_sans", ("10.20.0.5", "a.example")),
    ("", "gateway", "10.20.0.1"),
    ("", "node_subnet", "10.20.0.0/24"),
    ("node_dns_servers: [10.20.0.2]\n", "dns", ("10.20.0.2",)),
    ("node_ntp_servers: [a.example]\n", "ntp", ("a.example",)),
    ("node_vlan_tag: 20\n", "vlan", 20),
    ("node_vlan_tag: 20\nproxmox_vlan_mode: false\n", "vlan", 20),
    ("", "pod_subnets", ("10.42.0.0/16",)),
    ("", "service_subnets", ("10.43.0.0/16",)),
    ("", "cni", "flannel"),
    ("cni: cilium\n", "cni", "none"),
    ("cni: {name: cilium, kube_proxy: false}\n", "kube_proxy", False),
    ("", "schedule_on_control_planes", True),
    ("allow_scheduling_on_control_planes: false\n", "schedule_on_control_planes", False),
    (
        "registry_mirrors: {docker.io: ['http://10.20.0.9:5000']}\n",
        "registry_mirrors",
        {"docker.io": ("http://10.20.0.9:5000",)},
    ),
]


@pytest.mark.parametrize(("text", "field", "value"), CLUSTER_ROWS)
def test_cluster(tmp_path: Path, text: str, field: str, value: Any) -> None:
    """Each key of cluster.yaml reaches generation."""
    assert getattr(asked(tmp_path, text).cluster, field) == value


FACTORY = "factory.talos.dev/nocloud-installer"
EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
NODE_ROWS: list[tuple[str, str, Any]] = [
    ("", "address", "10.20.0.11/24"),
    ("", "hostname", "cp-1"),
    ("", "installer", f"{FACTORY}/{EMPTY}:v1.12.4"),
    ("    secureboot: true\n", "installer", f"{FACTORY}-secureboot/{EMPTY}:v1.12.4"),
    ("    disk: /dev/nvme0n1\n", "disk", "/dev/nvme0n1"),
    ("    disk: S3Z8NB0K\n", "disk", {"serial": "S3Z8NB0K"}),
    (
        "    disk: {bus_path: /pci0*, size: '>= 100GB'}\n",
        "disk",
        {"busPath": "/pci0*", "size": ">= 100GB"},
    ),
    ("    mtu: 9000\n", "mtu", 9000),
    ("    kernel_modules: [drbd]\n", "kernel_modules", ("drbd",)),
    ("    labels: {a: b}\n", "labels", {"a": "b"}),
    ("    taints: ['a=b:NoSchedule']\n", "taints", (Taint("a", "b", "NoSchedule"),)),
    ("    taints: ['a:NoExecute']\n", "taints", (Taint("a", "", "NoExecute"),)),
    ("", "disk_key", None),
    ("    encrypt_disk: true\n    secureboot: true\n", "disk_key", DiskKey.TPM),
    ("    encrypt_disk: true\n", "disk_key", DiskKey.NODE_ID),
    ("", "nvidia", False),
    ("    gpus: ['0000:01:00.0']\n", "nvidia", False),
    ("    gpus: ['0000:01:00.0']\n    extensions: [siderolabs/i915]\n", "nvidia", False),
    (
        "    gpus: ['0000:01:00.0']\n    extensions: [siderolabs/nonfree-kmod-nvidia-lts]\n",
        "nvidia",
        True,
    ),
    (f"    gpus: ['0000:01:00.0']\n    schematic_id: {'a' * 64}\n", "nvidia", True),
]


@pytest.mark.parametrize(("text", "field", "value"), NODE_ROWS)
def test_node(tmp_path: Path, text: str, field: str, value: Any) -> None:
    """Each key of a node reaches generation."""
    [node] = asked(tmp_path, more_node=text).nodes
    assert getattr(node, field) == value


@pytest.mark.parametrize(
    ("talos", "text", "pinned", "expected"),
    [
        ("v1.13.9", "", None, Contract.V1_13),
        ("v1.13.9", "", Contract.V1_12, Contract.V1_12),
        ("v1.13.9", "talos_contract: v1.13\n", Contract.V1_12, Contract.V1_13),
        # Secrets without a pin are from before contract 1.14, whatever version runs by now.
        ("v1.14.1", "", None, Contract.V1_13),
        ("v1.14.1", "", Contract.V1_13, Contract.V1_13),
        ("v1.14.1", "", Contract.V1_14, Contract.V1_14),
        ("v1.14.1", "talos_contract: v1.14\n", None, Contract.V1_14),
        ("v1.14.1", "talos_contract: v1.14\n", Contract.V1_13, Contract.V1_14),
    ],
)
def test_an_upgrade_does_not_change_the_contract(
    tmp_path: Path, talos: str, text: str, pinned: Contract | None, expected: Contract
) -> None:
    """A newer talos_version keeps the contract of the creation; an explicit key counts."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("v1.12.4", talos) + text, "utf-8")
    (tmp_path / "nodes.yaml").write_text(NODES, "utf-8")
    found = load(tmp_path).require()
    assert requests(found, lambda name: name, pinned).cluster.contract is expected


def test_proxmox_tags_the_vlan(tmp_path: Path) -> None:
    """Where Proxmox applies the tag, Talos must not apply it again."""
    found = asked(tmp_path, "node_vlan_tag: 20\nproxmox_vlan_mode: true\n")
    assert found.cluster.vlan is None


def test_patches_by_file_and_inline(tmp_path: Path, bundle: Bundle) -> None:
    """A patch is a file below the inventory or a mapping in it; both merge into the config."""
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "all.yaml").write_text(
        "machine:\n  sysctls: {vm.swappiness: '1'}\n", encoding="utf-8"
    )
    more = "patches: [patches/all.yaml]\ncontroller_patches: [{cluster: {proxy: {mode: ipvs}}}]\n"
    node = "    patches:\n      - machine: {files: [{path: /a, permissions: 0o644, op: create}]}\n"
    found = cluster(tmp_path, more, node)
    configs = build_configs(found, bundle, lambda name: (tmp_path / name).read_text("utf-8"))
    main = configs["cp-1"].documents[0]
    assert main["machine"]["sysctls"] == {"vm.swappiness": "1"}
    assert main["cluster"]["proxy"]["mode"] == "ipvs"
    assert main["machine"]["files"] == [{"path": "/a", "permissions": 0o644, "op": "create"}]


def test_a_bad_patch_is_found_in_the_inventory(tmp_path: Path) -> None:
    """The error names file, line and column of an inline patch."""
    with pytest.raises(TalopsError, match="unknown keys") as caught:
        asked(tmp_path, "patches:\n  - machine: {sysctl: {}}\n")
    assert "cluster.yaml:9:" in (caught.value.where or "")


def test_a_bad_patch_file_is_named(tmp_path: Path) -> None:
    """The error of a patch file names the file."""
    (tmp_path / "bad.yaml").write_text("machine: [\n", encoding="utf-8")
    with pytest.raises(TalopsError, match="not valid YAML") as caught:
        asked(tmp_path, more_node="    patches: [bad.yaml]\n")
    assert (caught.value.where or "").startswith("bad.yaml:")


def test_every_node_with_a_problem_is_named(tmp_path: Path, bundle: Bundle) -> None:
    """Patches that break a config are found before it is applied."""
    more = "patches: [{machine: {install: {extraKernelArgs: [quiet]}}}]\n"
    second = "  - {name: w-1, address: 10.20.0.21, controller: false}\n"
    found = cluster(tmp_path, more, second)
    with pytest.raises(TalopsError) as caught:
        build_configs(found, bundle, lambda name: name)
    for name in ("cp-1: install.extraKernelArgs", "w-1: install.extraKernelArgs"):
        assert name in caught.value.what


def test_two_taints_of_one_key_are_refused(tmp_path: Path) -> None:
    """Talos keeps a map of taints: the second would silently replace the first."""
    with pytest.raises(InventoryError, match="one taint per key") as caught:
        asked(tmp_path, more_node="    taints: ['a=b:NoSchedule', 'a=b:NoExecute']\n")
    assert "nodes.yaml:" in (caught.value.where or "")

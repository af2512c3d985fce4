"""The double of a cluster has the same nodes, and loads; what it cannot have is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.examples import EXAMPLES

from talops.cli.lab.double import double_of
from talops.inventory.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster

RUNNING = {"talos_version": "v1.13.9", "kubernetes_version": "v1.36.1"}
# As `World.endpoints` says it.
DETAILS = {
    "network": "127.77.0.0/16",
    "proxmox": {"hosts": [{"endpoint": "https://127.77.1.1:8006/", "nodes": ["pve"]}]},
    "factory": {"url": "https://127.77.0.2:8443"},
}


def doubled(cluster: Cluster, root: Path) -> tuple[Cluster, tuple[str, ...]]:
    double = double_of(cluster, RUNNING, "v1.13", DETAILS)
    for file in double.copies:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("machine: {}\n")
    for name, text in {**double.files, "lab-ca.pem": "a CA\n"}.items():
        (root / name).write_text(text)
    return load(root).require(), double.left_out


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_double_of_each_example_loads(name: str, tmp_path: Path) -> None:
    """Same nodes and roles, at the versions that run now, all of them on loopback."""
    cluster = load(EXAMPLES / name).require()
    found, _ = doubled(cluster, tmp_path)
    assert found.node_names == cluster.node_names
    assert [n.controller for n in found.nodes] == [n.controller for n in cluster.nodes]
    assert [n.labels for n in found.nodes] == [n.labels for n in cluster.nodes]
    assert (found.talos_version, found.kubernetes_version) == tuple(RUNNING.values())
    assert found.talos_contract == "v1.13"
    assert found.patches == cluster.patches
    assert all(node.address.is_loopback for node in found.nodes)
    assert bool(found.vip) == bool(cluster.vip)


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    """Drivers, gates, encrypted patches and unknown schematics; other extensions stay."""
    origin, copy = tmp_path / "origin", tmp_path / "copy"
    copy.mkdir()
    origin.mkdir()
    for name in ("open.yaml", "closed.sops.yaml"):
        (origin / name).write_text("machine: {}\n")
    (origin / "cluster.yaml").write_text(
        "cluster_name: lab\ntalos_version: v1.14.1\nkubernetes_version: v1.36.1\n"
        "node_cidr: 10.0.0.0/24\nextensions: [siderolabs/btrfs]\n"
        "patches: [open.yaml, closed.sops.yaml]\n"
        "gates: [{name: on-call, command: ['true']}]\n"
    )
    bare = "disk: /dev/sda, mac_addr: 'BC:24:11:00:00:0"
    (origin / "nodes.yaml").write_text(
        f"nodes:\n  - {{name: a, address: 10.0.0.11, controller: true, {bare}1'}}\n"
        f"  - {{name: b, address: 10.0.0.12, controller: false, {bare}2',\n"
        "     extensions: [siderolabs/nvidia-open-gpu-kernel-modules-production],\n"
        "     kernel_modules: [nvidia]}\n"
        f"  - {{name: c, address: 10.0.0.13, controller: false, {bare}3',\n"
        f"     schematic_id: {'ab' * 32}}}\n"
    )
    found, left_out = doubled(load(origin).require(), copy)
    assert left_out == (
        "the encrypted patch closed.sops.yaml",
        "drivers of b",
        "the schematic of c: the lab knows extensions only",
        "the gate on-call",
    )
    assert found.patches == ("open.yaml",)
    assert found.nodes[1].extensions == ("siderolabs/btrfs",)
    assert found.nodes[1].kernel_modules == ()
    assert found.gates == ()

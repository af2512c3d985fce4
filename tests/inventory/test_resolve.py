"""Defaults, fallbacks and derived values."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from talops.inventory.load import load
from talops.inventory.resolve import derived_mac
from talops.inventory.schematics import schematic_id

if TYPE_CHECKING:
    from talops.inventory.model import Cluster

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def example(name: str) -> Cluster:
    return load(EXAMPLES / name).require()


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_examples_are_right(name: str) -> None:
    """What we show to people has not even a warning."""
    loaded = load(EXAMPLES / name)
    assert loaded.cluster is not None
    assert loaded.problems == ()


def test_fallback_is_node_then_role_then_global() -> None:
    """Each key falls back for itself."""
    cluster = example("ha")
    plane, worker = cluster.control_planes[0].vm, cluster.workers[0].vm
    assert plane
    assert worker
    assert (plane.cores, plane.memory, plane.disk_size, plane.sockets) == (2, 4096, 64, 1)
    assert (worker.cores, worker.memory, worker.disk_size, worker.sockets) == (8, 32768, 256, 1)


def test_gateway_defaults_to_the_first_host() -> None:
    """Unless the inventory names another."""
    assert example("dev").network.gateway == IPv4Address("10.20.0.1")
    assert example("ha").network.gateway == IPv4Address("10.30.0.254")


def test_endpoint_is_the_vip_or_the_only_control_plane() -> None:
    """One address for the Kubernetes API either way."""
    assert example("ha").endpoint == "https://10.30.0.10:6443"
    assert example("dev").endpoint == "https://10.20.0.11:6443"


def test_derived_macs_are_stable_and_unicast() -> None:
    """The same names give the same address on every run and machine."""
    assert derived_mac("home", "cp-1") == "BC:24:11:68:39:AD"
    assert derived_mac("home", "cp-1") != derived_mac("home", "cp-2")


def test_extensions_of_cluster_and_node_add_up() -> None:
    """Order is the cluster's, then the node's, each once."""
    node = example("two-hosts").workers[0]
    assert node.extensions == ("siderolabs/iscsi-tools",)
    assert node.image.schematic == schematic_id(("siderolabs/iscsi-tools",))


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        ((), "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
        (
            ("siderolabs/qemu-guest-agent",),
            "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
        ),
    ],
)
def test_schematic_ids_are_those_of_the_image_factory(
    extensions: tuple[str, ...], expected: str
) -> None:
    """Known pairs of the public Image Factory."""
    assert schematic_id(extensions) == expected


def test_bare_metal_has_no_vms() -> None:
    """Without a Proxmox the pipeline starts at the nodes."""
    cluster = example("bare-metal")
    assert cluster.proxmox is None
    assert all(node.vm is None and node.image.platform == "metal" for node in cluster.nodes)


def test_single_node_schedules_on_its_control_plane() -> None:
    """Otherwise nothing could run."""
    assert example("single").schedule_on_control_planes
    assert not example("dev").schedule_on_control_planes


def test_values_know_their_place() -> None:
    """Any later message can point into the files."""
    cluster = example("dev")
    assert cluster.where(cluster.nodes[1], "address") == "nodes.yaml:8:14"

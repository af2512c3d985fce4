"""What talops generates and what the real library generates of the same facts are the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.judges import JUDGES, differences

from talops.inventory.load import load
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

    from talops.machineconfig.secrets.bundle import Bundle

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").iterdir())
REQUESTS = 60
# What talops writes beyond `talosctl gen config`, each for a reason of its own.
BOTH = {
    r"HostnameConfig\..*": "the inventory names its nodes; talosctl lets each make up a name",
    r"(LinkAlias|Link|VLAN|Layer2VIP|TimeSync)Config.*": "the network of the inventory",
    r"ResolverConfig.*nameservers.*": "node_dns_servers",
    r"VolumeConfig/.*": "encrypt_disk",
}
INTENDED = {
    Contract.V1_13: {
        **BOTH,
        r"ResolverConfig\.(apiVersion|kind)": "node_dns_servers",
        r"v1alpha1\.machine\.kubelet\.nodeIP\..*": "node_cidr says which address is the node's own",
        r"v1alpha1\.machine\.kernel\..*": "modules of the inventory, and NVIDIA's",
        r"v1alpha1\.machine\.nodeLabels\..*": "labels of the inventory",
        r"v1alpha1\.machine\.nodeTaints\..*": "taints of the inventory",
        r"v1alpha1\.machine\.kubelet\.extraConfig\..*": "a worker sets its taints as it registers",
    },
    Contract.V1_14: {
        **BOTH,
        r"KubeNodeConfig\.nodeIP.*": "node_cidr says which address is the node's own",
        r"KubeNodeConfig\.labels.*": "labels of the inventory",
        r"KubeNodeConfig\.taints.*": "taints of the inventory",
        r"KernelModuleConfig/.*": "modules of the inventory, and NVIDIA's",
    },
}

pytestmark = pytest.mark.slow


def by_library(
    cluster: ClusterRequest, node: NodeRequest, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> list[Any]:
    made = oracle(JUDGES[cluster.contract]).ask(
        "generate",
        cluster=cluster.name,
        endpoint=cluster.endpoint,
        kubernetes=cluster.kubernetes_version,
        contract=f"v{cluster.contract}",
        bundle=bundle.to_yaml(),
        install_disk=node.disk if isinstance(node.disk, str) else "",
        install_image=node.installer,
        sans=list(cluster.cert_sans),
        dns_domain=cluster.dns_domain,
        pod_subnets=list(cluster.pod_subnets),
        service_subnets=list(cluster.service_subnets),
        allow_scheduling=cluster.schedule_on_control_planes,
        mirrors={host: list(urls) for host, urls in cluster.registry_mirrors.items()},
    )
    found: list[Any] = made["controlplane" if node.control_plane else "worker"]
    return found


def compared(
    cluster: ClusterRequest, node: NodeRequest, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> dict[str, tuple[Any, Any]]:
    """Leaf by leaf: what the library writes, what talops writes."""
    ours = oracle(JUDGES[cluster.contract]).normalize(generate(cluster, node, bundle).documents)
    return differences(by_library(cluster, node, bundle, oracle), ours)


def random_request(
    rng: random.Random, contract: Contract, bundle: Bundle
) -> tuple[ClusterRequest, NodeRequest]:
    net = rng.randrange(200)
    names = [f"api{n}.example" for n in range(rng.randrange(3))] + [f"10.{net}.0.5"]
    registries = rng.sample(["docker.io", "ghcr.io", "registry.k8s.io"], rng.randrange(4))
    cluster = ClusterRequest(
        name=f"cluster-{net}",
        contract=contract,
        endpoint=rng.choice([f"https://10.{net}.0.5:6443", "https://api.example:443"]),
        kubernetes_version=rng.choice(["1.34.2", "1.35.4", "1.36.0-rc.1"]),
        cert_sans=tuple(rng.sample(names, rng.randrange(len(names) + 1))),
        dns_domain=rng.choice(["cluster.local", "k8s.example"]),
        pod_subnets=(f"10.{net}.0.0/17", "fd00:10:244::/56")[: rng.randint(1, 2)],
        service_subnets=("10.96.0.0/12", "fd00:10:96::/112")[: rng.randint(1, 2)],
        schedule_on_control_planes=rng.random() < 0.5,
        registry_mirrors={
            host: tuple(f"https://mirror{n}.example/{host}" for n in range(rng.randint(1, 3)))
            for host in registries
        },
    )
    node = NodeRequest(
        name="n-1",
        control_plane=rng.random() < 0.5,
        installer=f"factory.example/installer/{rng.randbytes(4).hex()}:v1.13.9",
        disk=rng.choice(["/dev/sda", "/dev/nvme0n1"]),
    )
    return cluster, node


@pytest.mark.parametrize("contract", list(Contract))
def test_equal_to_the_library(
    rng: random.Random, contract: Contract, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> None:
    """What `talosctl gen config` can be asked for gives not one leaf of difference."""
    for _ in range(REQUESTS):
        cluster, node = random_request(rng, contract, bundle)
        assert compared(cluster, node, bundle, oracle) == {}


@pytest.mark.parametrize("contract", list(INTENDED))
def test_examples_differ_as_intended(
    contract: Contract, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> None:
    """Beyond that, talops writes what the list above explains, and all of it somewhere."""
    used: set[str] = set()
    for example in EXAMPLES:
        for path in example_differences(example, contract, bundle, oracle):
            reasons = [pattern for pattern in INTENDED[contract] if re.fullmatch(pattern, path)]
            assert reasons, f"{example.name}: {path}"
            used.update(reasons)
    assert used == set(INTENDED[contract])


def example_differences(
    example: Path, contract: Contract, bundle: Bundle, oracle: Callable[[str], Oracle]
) -> set[str]:
    wanted = requests(
        load(example).require(),
        lambda name: (example / name).read_text(encoding="utf-8"),
        contract,
    )
    cluster = replace(wanted.cluster, patches=(), control_plane_patches=(), worker_patches=())
    return {
        path
        for node in wanted.nodes
        for path in compared(cluster, replace(node, patches=()), bundle, oracle)
    }

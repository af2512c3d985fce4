"""Random inventories that are right, as plain data."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from hypothesis import strategies as st

VERSIONS = [("v1.12.4", "v1.35.4"), ("v1.13.9", "v1.36.3"), ("v1.14.1", "v1.37.0")]
EXTENSIONS = ["siderolabs/iscsi-tools", "siderolabs/util-linux-tools", "siderolabs/gvisor"]
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)


def maybe(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of these keys, or none."""
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def sizes(draw: st.DrawFn) -> dict[str, Any]:
    return draw(
        maybe(
            cores=st.integers(1, 64),
            sockets=st.integers(1, 4),
            memory=st.integers(2048, 262_144),
            disk_size=st.integers(10, 4096),
        )
    )


@st.composite
def nodes(draw: st.DrawFn, network: IPv4Network, count: int, planes: int) -> list[dict[str, Any]]:
    offsets = draw(st.lists(st.integers(20, 250), min_size=count, max_size=count, unique=True))
    made = []
    for index, offset in enumerate(offsets):
        extra = draw(
            maybe(
                mtu=st.sampled_from([576, 1500, 9000]),
                vm_cores=st.integers(1, 32),
                secureboot=st.booleans(),
                encrypt_disk=st.booleans(),
                kernel_modules=st.lists(st.sampled_from(["nbd", "br_netfilter"]), unique=True),
                extensions=st.lists(st.sampled_from(EXTENSIONS), unique=True),
                vm_startup_order=st.just(5 if index >= planes else 1),
                labels=st.dictionaries(st.sampled_from(["zone", "a/b"]), st.just("x")),
                gpus=st.just([f"gpu{index}"]),
                host=st.sampled_from(["pve", "pve2"]),
            )
        )
        made.append(
            {
                "name": f"n-{offset}",
                "address": str(network.network_address + offset),
                "controller": index < planes,
                "vm_id": 1000 + offset,
                **extra,
            }
        )
    return made


@st.composite
def inventories(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """cluster.yaml and nodes.yaml without any problem that is an error."""
    talos, kubernetes = draw(st.sampled_from(VERSIONS))
    network = IPv4Network(f"10.{draw(st.integers(0, 41))}.{draw(st.integers(0, 255))}.0/24")
    planes, workers = draw(st.sampled_from([1, 3, 5])), draw(st.integers(0, 5))
    cluster = {
        "cluster_name": draw(st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)),
        "talos_version": talos,
        "kubernetes_version": kubernetes,
        "node_cidr": str(network),
        "cluster_api_addr": str(network.network_address + 10),
        "proxmox_api_url": "https://pve.example:8006",
        "proxmox_node": "pve",
        "hypervisors": {"nodes": [{"name": "pve"}, {"name": "pve2"}]},
        **draw(
            maybe(
                proxmox_vm_defaults=sizes(),
                proxmox_vm_controller_defaults=sizes(),
                boot=st.sampled_from(["iso", "image"]),
                boot_network=st.sampled_from(["static", "dhcp"]),
                node_vlan_tag=st.integers(1, 4094),
                proxmox_vlan_mode=st.booleans(),
                extensions=st.lists(st.sampled_from(EXTENSIONS), unique=True),
                pool=st.sampled_from(["a", "b-c"]),
                state=st.sampled_from(
                    ["local", {"type": "http", "url": "https://state.example/p"}]
                ),
                legacy=st.just([{"name": "old", "description": "${not} a %{template}"}]),
                cloudflare_domain=TEXT,
                node_dns_servers=st.just(["9.9.9.9"]),
            )
        ),
    }
    return cluster, {"nodes": draw(nodes(network, planes + workers, planes))}


@st.composite
def rich_inventories(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same, with more of what ends up in a machine config."""
    cluster, nodes = draw(inventories())
    cluster |= draw(
        maybe(
            cni=st.sampled_from(["flannel", "none", {"name": "cilium", "kube_proxy": False}]),
            registry_mirrors=st.just(
                {"docker.io": ["https://m.example", "https://n.example:5000"]}
            ),
            allow_scheduling_on_control_planes=st.booleans(),
            cluster_api_tls_sans=st.lists(
                st.sampled_from(["api.example", "10.99.0.1", "fd00::1"]), unique=True
            ),
            node_ntp_servers=st.just(["time.example", "10.99.0.2"]),
            cluster_pod_cidr=st.sampled_from(["10.244.0.0/16", "172.20.0.0/14"]),
            cluster_svc_cidr=st.sampled_from(["10.96.0.0/16", "192.168.128.0/20"]),
            patches=st.just([{"machine": {"sysctls": {"vm.max_map_count": "262144"}}}]),
            worker_patches=st.just(
                [{"apiVersion": "v1alpha1", "kind": "WatchdogTimerConfig", "device": "/dev/wd"}]
            ),
        )
    )
    for index, node in enumerate(nodes["nodes"]):
        more = draw(
            maybe(
                mac_addr=st.just(f"BC:24:11:00:00:{index:02X}"),
                labels=st.dictionaries(
                    st.sampled_from(["zone", "example.org/rack"]), st.sampled_from(["", "a-1.b_2"])
                ),
                taints=st.sampled_from([["gpu=yes:NoSchedule"], ["a:NoExecute", "b=:NoSchedule"]]),
                disk=st.sampled_from(
                    [
                        "/dev/nvme0n1",
                        "S3Z9-1",
                        {"size": ">= 100GB", "type": "nvme"},
                        {"wwid": "eui.1"},
                    ]
                ),
            )
        )
        node.update(more)
    return cluster, nodes

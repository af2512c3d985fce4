"""The double of a cluster: an inventory of the same nodes that fits a running lab. Pure.

What makes an upgrade different from others is the same: names and roles of nodes, extensions,
patches, labels, taints, the contract of the configs. Hosts, disks and addresses are the lab's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from talops.inventory.model import Cluster, Node

CA_FILE = "lab-ca.pem"
SUBNET = 16
SMALL = {"cores": 2, "memory": 4096, "disk_size": 32}
# From this number of control planes on, one API server per cluster is enough for the lab.
MANY = 5
SEALED = ".sops.yaml"
# Drivers need the device: the lab has none of these nodes'.
DRIVERS = ("nvidia", "amdgpu", "i915", "xe")


@dataclass(frozen=True)
class Double:
    """`files`: its inventory. `copies`: patch files, from the directory of the cluster. `left_out`:
    what the lab does not rehearse.
    """

    files: Mapping[str, str]
    copies: tuple[str, ...]
    left_out: tuple[str, ...]


def spec_of(cluster: Cluster) -> LabSpec:
    many = len(cluster.control_planes) >= MANY
    return LabSpec(pace=0.0, timing=0.0, apiservers="leader-only" if many else "every")


def double_of(
    cluster: Cluster, running: Mapping[str, str], contract: str, details: Mapping[str, Any]
) -> Double:
    """`running`: keys of cluster.yaml with the versions that run now."""
    network = IPv4Network(details["network"])
    cidr = IPv4Network((int(network.network_address) + (SUBNET << 8), 20))
    keys = {
        "cluster_name": cluster.name,
        **running,
        **({"talos_contract": contract} if contract else {}),
        "node_cidr": str(cidr),
        **({"cluster_api_addr": str(cidr[10])} if cluster.vip else {}),
        "cluster_pod_cidr": str(cluster.pod_cidr),
        "cluster_svc_cidr": str(cluster.svc_cidr),
        "allow_scheduling_on_control_planes": cluster.schedule_on_control_planes,
        "patches": _patches(cluster.patches),
        "controller_patches": _patches(cluster.controller_patches),
        "worker_patches": _patches(cluster.worker_patches),
        **_environment(details),
    }
    lines = [f"{key}: {_value(value)}\n" for key, value in keys.items() if value != []]
    entries = [_entry(node, place, cidr) for place, node in enumerate(cluster.nodes)]
    rows = [f"  - {json.dumps(entry)}\n" for entry in entries]
    files = {"cluster.yaml": "".join(lines), "nodes.yaml": "nodes:\n" + "".join(rows)}
    return Double(files, tuple(dict.fromkeys(_copies(cluster))), tuple(_left_out(cluster)))


def _environment(details: Mapping[str, Any]) -> dict[str, Any]:
    host = details["proxmox"]["hosts"][0]
    return {
        "proxmox_api_url": host["endpoint"].rstrip("/"),
        "proxmox_node": host["nodes"][0],
        "proxmox_ca_file": CA_FILE,
        "image_factory_url": details["factory"]["url"],
        "image_factory_ca_file": CA_FILE,
        "proxmox_vm_defaults": SMALL,
    }


def _entry(node: Node, place: int, cidr: IPv4Network) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": node.name,
        "address": str(cidr[11 + place]),
        "controller": node.controller,
        "vm_id": 111 + place,
        "extensions": [each for each in node.extensions or () if not _drives(each)],
        "kernel_modules": [each for each in node.kernel_modules if not _drives(each)],
        "labels": dict(node.labels),
        "taints": list(node.taints),
        "patches": _patches(node.patches),
    }
    return {key: value for key, value in found.items() if value not in ([], {})}


def _patches(patches: tuple[str | dict[str, Any], ...]) -> list[Any]:
    return [each for each in patches if not _sealed(each)]


def _sealed(patch: str | dict[str, Any]) -> bool:
    """Its key does not leave the directory of the cluster."""
    return isinstance(patch, str) and patch.endswith(SEALED)


def _drives(name: str) -> bool:
    return name.rpartition("/")[2].startswith(DRIVERS)


def _all_patches(cluster: Cluster) -> Iterator[str | dict[str, Any]]:
    yield from (*cluster.patches, *cluster.controller_patches, *cluster.worker_patches)
    for node in cluster.nodes:
        yield from node.patches


def _copies(cluster: Cluster) -> Iterator[str]:
    for patch in _all_patches(cluster):
        if isinstance(patch, str) and not _sealed(patch):
            yield patch


def _left_out(cluster: Cluster) -> Iterator[str]:
    sealed = sorted({str(each) for each in _all_patches(cluster) if _sealed(each)})
    yield from (f"the encrypted patch {name}" for name in sealed)
    for node in cluster.nodes:
        if node.extensions is None:
            yield f"the schematic of {node.name}: the lab knows extensions only"
        elif any(map(_drives, (*node.extensions, *node.kernel_modules))):
            yield f"drivers of {node.name}"
    yield from (f"the gate {gate.name}" for gate in cluster.gates)
    if cluster.cni.name == "cilium":
        yield "Cilium"


def _value(value: Any) -> str:
    """Plain strings, so that `talops upgrade` can change the versions."""
    return value if isinstance(value, str) else json.dumps(value)

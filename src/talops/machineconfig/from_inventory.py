"""Convert the inventory to the input of the generator."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import InventoryError
from talops.inventory.fields import TAINT
from talops.inventory.support import knows_cdi
from talops.machineconfig import images
from talops.machineconfig.contract import NEWEST_UNPINNED, Contract
from talops.machineconfig.patches.reading import make_patch, parse_patch
from talops.machineconfig.request import ClusterRequest, DiskKey, NodeRequest, Taint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from talops.inventory.model import Cluster, Node
    from talops.inventory.sections import DiskSelector
    from talops.machineconfig.request import Patch

    # Returns the text of a patch file in the inventory.
    ReadPatch = Callable[[str], str]

# Fields of the disk selector whose names differ from those of Talos.
_SELECTOR_NAMES = {"bus_path": "busPath"}


@dataclass(frozen=True)
class Requests:
    cluster: ClusterRequest
    nodes: tuple[NodeRequest, ...]


def requests(cluster: Cluster, read_patch: ReadPatch, pinned: Contract | None = None) -> Requests:
    """`pinned` is the contract that the cluster was created with, if known."""
    patches = _Patches(cluster, read_patch)
    return Requests(
        _cluster(cluster, patches, contract_of(cluster, pinned)),
        tuple(_node(cluster, node, patches) for node in cluster.nodes),
    )


def contract_of(cluster: Cluster, pinned: Contract | None) -> Contract:
    """cluster.yaml overrides; the default from talos_version is only for new clusters."""
    implied = Contract(cluster.talos_contract.removeprefix("v"))
    if cluster.at.gives("talos_contract"):
        return implied
    # Secrets without a pin are older than contract 1.14, or of unknown origin: a contract that
    # every Talos version supports is safe, and a newer talos_version alone must not change
    # configs.
    return pinned or min(implied, NEWEST_UNPINNED, key=lambda contract: contract.numbers)


def _cluster(cluster: Cluster, patches: _Patches, contract: Contract) -> ClusterRequest:
    network = cluster.network
    names = [str(cluster.vip)] if cluster.vip else []
    return ClusterRequest(
        name=cluster.name,
        contract=contract,
        endpoint=cluster.endpoint,
        kubernetes_version=cluster.kubernetes_version.removeprefix("v"),
        cert_sans=tuple(dict.fromkeys([*names, *cluster.tls_sans])),
        vip=str(cluster.vip) if cluster.vip else None,
        node_subnet=str(network.cidr),
        gateway=str(network.gateway),
        dns=tuple(str(address) for address in network.dns),
        ntp=network.ntp,
        vlan=None if network.proxmox_tags else network.vlan,
        pod_subnets=(str(cluster.pod_cidr),),
        service_subnets=(str(cluster.svc_cidr),),
        # Talos does not install a network: other plugins are add-ons.
        cni="flannel" if cluster.cni.name == "flannel" else "none",
        kube_proxy=cluster.cni.kube_proxy,
        schedule_on_control_planes=cluster.schedule_on_control_planes,
        nvidia_runtime=not knows_cdi(cluster.talos_version)
        and any(has_nvidia(n) for n in cluster.nodes),
        registry_mirrors=dict(cluster.registry_mirrors),
        patches=patches.of_cluster("patches", cluster.patches),
        control_plane_patches=patches.of_cluster("controller_patches", cluster.controller_patches),
        worker_patches=patches.of_cluster("worker_patches", cluster.worker_patches),
    )


def _node(cluster: Cluster, node: Node, patches: _Patches) -> NodeRequest:
    return NodeRequest(
        name=node.name,
        hostname=node.name,
        control_plane=node.controller,
        installer=images.installer(
            cluster.image_factory_url,
            node.image.schematic,
            cluster.talos_version,
            platform=node.image.platform,
            secureboot=node.image.secureboot,
        ),
        disk=_disk(node.disk),
        mac=node.mac,
        address=f"{node.address}/{cluster.network.cidr.prefixlen}",
        mtu=node.mtu,
        kernel_modules=node.kernel_modules,
        nvidia=has_nvidia(node),
        disk_key=_disk_key(node),
        labels=dict(node.labels),
        taints=_taints(cluster, node),
        patches=patches.of_node(node),
    )


def has_nvidia(node: Node) -> bool:
    """The node has a GPU, and its image contains the NVIDIA driver or is unknown."""
    if not node.gpus:
        return False
    return node.extensions is None or any("nvidia" in name for name in node.extensions)


def _disk(disk: str | DiskSelector) -> str | dict[str, str]:
    if isinstance(disk, str):
        return disk if disk.startswith("/") else {"serial": disk}
    given = disk.model_dump(exclude_none=True)
    return {_SELECTOR_NAMES.get(key, key): str(value) for key, value in given.items()}


def _disk_key(node: Node) -> DiskKey | None:
    if not node.encrypt_disk:
        return None
    # A TPM key is sealed to a signed boot image; only SecureBoot images are signed.
    return DiskKey.TPM if node.image.secureboot else DiskKey.NODE_ID


def _taints(cluster: Cluster, node: Node) -> tuple[Taint, ...]:
    taints = []
    for text in node.taints:
        match = TAINT.fullmatch(text)
        assert match, "the inventory has checked its taints"
        taints.append(Taint(match["key"], match["value"] or "", match["effect"]))
    twice = [key for key, count in Counter(taint.key for taint in taints).items() if count > 1]
    if twice:
        raise InventoryError(
            f"Talos supports one taint per key, but {twice[0]} is set more than once",
            where=cluster.where(node, "taints"),
            hint="keep the one with the stronger effect",
        )
    return tuple(taints)


class _Patches:
    """Reads and validates each patch file once, even if several nodes use it."""

    def __init__(self, cluster: Cluster, read: ReadPatch) -> None:
        self._at = cluster.at
        self._read = read
        self._known: dict[str, Patch] = {}

    def of_cluster(self, key: str, given: Iterable[str | dict[str, Any]]) -> tuple[Patch, ...]:
        return tuple(
            self._one(patch, str(self._at.cluster_value(key, place)))
            for place, patch in enumerate(given)
        )

    def of_node(self, node: Node) -> tuple[Patch, ...]:
        return tuple(
            self._one(patch, str(self._at.node_value(node.index, "patches", place)))
            for place, patch in enumerate(node.patches)
        )

    def _one(self, given: str | dict[str, Any], where: str) -> Patch:
        if isinstance(given, dict):
            return make_patch([_plain(given)], where=where)
        if given not in self._known:
            self._known[given] = parse_patch(self._read(given), where=given)
        return self._known[given]


def _plain(value: Any) -> Any:
    """Plain data, without the position types of the inventory reader."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value

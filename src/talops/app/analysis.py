"""What is lost when a host or node fails, computed from the inventory alone. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Cluster, Node

_PAIR = 2


@dataclass(frozen=True)
class Loss:
    """What is lost when one host or node fails; `quorum`: etcd still has a majority."""

    kind: str  # host, node
    name: str
    nodes: tuple[str, ...]
    etcd_left: int
    etcd_all: int
    quorum: bool
    endpoint: bool
    gpus_lost: int
    gpus_all: int
    cores_lost: int
    cores_all: int

    @property
    def survives(self) -> bool:
        """The Kubernetes API stays available: etcd has its majority, the endpoint its address."""
        return self.quorum and self.endpoint


@dataclass(frozen=True)
class Weakness:
    """A layout where one failure stops more than it should, and a remedy."""

    rule: str
    what: str
    hint: str


@dataclass(frozen=True)
class Analysis:
    losses: tuple[Loss, ...]
    weaknesses: tuple[Weakness, ...]
    # How many control planes may fail at the same time.
    spare: int

    def as_dict(self) -> dict[str, Any]:
        losses = [{**asdict(loss), "survives": loss.survives} for loss in self.losses]
        return {
            "spare": self.spare,
            "losses": losses,
            "weaknesses": [*map(asdict, self.weaknesses)],
        }


def analyze(cluster: Cluster) -> Analysis:
    hosts = _hosts(cluster)
    losses = [_loss(cluster, "host", name, nodes) for name, nodes in hosts.items()]
    losses += [_loss(cluster, "node", node.name, [node]) for node in cluster.nodes]
    spare = (len(cluster.control_planes) - 1) // 2
    return Analysis(tuple(losses), tuple(_weaknesses(cluster, hosts)), spare)


def _hosts(cluster: Cluster) -> dict[str, list[Node]]:
    """Proxmox hosts in the order of the inventory; none for bare metal."""
    found: dict[str, list[Node]] = {}
    for node in cluster.nodes:
        if node.vm:
            found.setdefault(node.vm.host, []).append(node)
    return found


def _loss(cluster: Cluster, kind: str, name: str, lost: Sequence[Node]) -> Loss:
    names = {node.name for node in lost}
    members = len(cluster.control_planes)
    left = [node for node in cluster.control_planes if node.name not in names]
    # Without a VIP the endpoint is the address of one control plane and fails with it.
    endpoint = bool(left) and (cluster.vip is not None or cluster.control_planes[0] in left)
    return Loss(
        kind,
        name,
        tuple(node.name for node in lost),
        etcd_left=len(left),
        etcd_all=members,
        quorum=_majority(len(left), members),
        endpoint=endpoint,
        gpus_lost=sum(len(node.gpus) for node in lost),
        gpus_all=sum(len(node.gpus) for node in cluster.nodes),
        cores_lost=_cores(cluster, lost),
        cores_all=_cores(cluster, cluster.nodes),
    )


def _majority(left: int, members: int) -> bool:
    return left > members // 2


def _cores(cluster: Cluster, nodes: Sequence[Node]) -> int:
    """Cores that run workloads."""
    return sum(
        node.vm.cores * node.vm.sockets
        for node in nodes
        if node.vm and (not node.controller or cluster.schedule_on_control_planes)
    )


def _weaknesses(cluster: Cluster, hosts: dict[str, list[Node]]) -> list[Weakness]:
    return [
        *_control_planes(cluster),
        *_endpoint(cluster),
        *_quorum_on_one_host(cluster, hosts),
        *_on_one_host(hosts, "gpu", "GPU", [node for node in cluster.nodes if node.gpus]),
        *_on_one_host(hosts, "worker", "worker", cluster.workers),
    ]


def _control_planes(cluster: Cluster) -> list[Weakness]:
    count = len(cluster.control_planes)
    if count == 1:
        what = "there is only one control plane: if it fails, the cluster is lost"
        hint = "use three control planes, and take etcd snapshots: talops talos etcd snapshot"
        return [Weakness("single-control-plane", what, hint)]
    if count % 2 == 0:
        spare = (count - 1) // 2
        what = f"{count} control planes tolerate the loss of {spare}, the same as {count - 1} would"
        return [
            Weakness("even-control-planes", what, f"use {count - 1} or {count + 1} control planes")
        ]
    return []


def _endpoint(cluster: Cluster) -> list[Weakness]:
    if cluster.vip or len(cluster.control_planes) < _PAIR:
        return []
    first = cluster.control_planes[0]
    what = f"without a VIP the API is available only on {first.name} ({first.address})"
    return [Weakness("no-vip", what, "set cluster_api_addr in cluster.yaml")]


def _quorum_on_one_host(cluster: Cluster, hosts: dict[str, list[Node]]) -> list[Weakness]:
    members = len(cluster.control_planes)
    found = []
    for host, nodes in hosts.items():
        here = [node.name for node in nodes if node.controller]
        if members > 1 and here and not _majority(members - len(here), members):
            what = f"{host} runs {len(here)} of {members} control planes: if it fails, etcd stops"
            hint = f"distribute {', '.join(here)} over more hosts (`host` in nodes.yaml)"
            found.append(Weakness("quorum-on-one-host", what, hint))
    return found


def _on_one_host(
    hosts: dict[str, list[Node]], rule: str, noun: str, nodes: Sequence[Node]
) -> list[Weakness]:
    """With a single host, the finding about the quorum already says this."""
    names = {node.name for node in nodes}
    for host, here in hosts.items():
        if len(hosts) > 1 and len(names) > 1 and names <= {node.name for node in here}:
            what = f"all {len(names)} {noun} nodes are on {host}"
            return [Weakness(f"{rule}s-on-one-host", what, "distribute them over more hosts")]
    return []

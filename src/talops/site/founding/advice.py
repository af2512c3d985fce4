"""What to do when etcd has lost its data, or the majority of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.plural import count
from talops.site.enrolment.proof import Doubt, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.site.enrolment.proof import Judgement


def how_to_restore(cluster: str) -> str:
    """No control plane has data."""
    return (
        "restore a backup: talops recover --from-backup latest; or a snapshot: talops recover "
        "--from-snapshot FILE; or, if losing its data is acceptable, start with an empty etcd: "
        f"talops recover --bootstrap-again {cluster}"
    )


def how_to_wipe(left: Iterable[Node]) -> str:
    """These have data, but too few to admit the others."""
    nodes = ",".join(str(node.address) for node in left)
    return (
        "if their machines cannot come back, restore a backup: talops recover --from-backup "
        "latest; or wipe what is left: talops talos reset --label EPHEMERAL --reboot "
        f"--no-graceful --nodes {nodes}, then restore a snapshot: talops recover --from-snapshot "
        "FILE"
    )


def etcd_lost(doubted: Sequence[tuple[Node, Judgement]], cluster: Cluster) -> ConflictError | None:
    """Control planes that have lost their config have lost their etcd data with it; where another
    machine answers, the data may still exist.
    """
    planes = cluster.control_planes
    lost = [n.name for n, found in doubted if n.controller and found.doubt is Doubt.RETURNED]
    if 2 * len(lost) < len(planes):
        return None
    sent = f"; no machine config was sent:{reasons(doubted)}"
    left = [node for node in planes if node.name not in lost]
    if not left:
        return ConflictError(
            "this cluster was bootstrapped before, but no control plane has etcd data: each is "
            f"back in maintenance mode, although it has a config{sent}",
            where=", ".join(lost),
            hint=how_to_restore(cluster.name),
        )
    return ConflictError(
        majority_lost(lost, len(planes)) + sent, where=_names(left), hint=how_to_wipe(left)
    )


def majority_lost(lost: Iterable[str], members: int) -> str:
    names = sorted(lost)
    return (
        f"etcd has lost its majority: {count(len(names), 'member')} of {members} without data "
        f"({', '.join(names)})"
    )


def _names(nodes: Iterable[Node]) -> str:
    return ", ".join(node.name for node in nodes)

"""What to do when etcd has lost its data, or the majority of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node


def restore(cluster: str) -> str:
    """No control plane has data."""
    return (
        "restore a snapshot: talops recover --from-snapshot FILE; or, if losing its data is "
        f"acceptable, start with an empty etcd: talops recover --bootstrap-again {cluster}"
    )


def wiping(left: Iterable[Node]) -> str:
    """These have data, but too few to admit the others."""
    nodes = ",".join(str(node.address) for node in left)
    return (
        "if their machines cannot come back, wipe what is left: talops talos reset --label "
        f"EPHEMERAL --reboot --no-graceful --nodes {nodes}; then restore a snapshot: talops "
        "recover --from-snapshot FILE"
    )

"""Which patch of the inventory a setting of a config comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.machineconfig.cost_table import MAIN
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.from_inventory import ReadPatch
    from talops.machineconfig.request import Patch
    from talops.machineconfig.secrets.bundle import Bundle


def origins(
    cluster: Cluster, bundle: Bundle, read_patch: ReadPatch, node: Node, paths: Sequence[str]
) -> tuple[str, ...]:
    """The places of all patches of this node that touch one of these paths; () if the settings
    come from other keys of the inventory.
    """
    found = requests(cluster, read_patch, bundle.contract)
    own = next(request for request in found.nodes if request.name == node.name)
    whole = found.cluster
    role = whole.control_plane_patches if node.controller else whole.worker_patches
    patches: list[Patch] = [*whole.patches, *role, *own.patches]
    touching = [patch for patch in patches if any(_touches(patch, path) for path in paths)]
    return tuple(dict.fromkeys(patch.where for patch in touching))


def _touches(patch: Patch, path: str) -> bool:
    return any(_sets(document, path) for document in patch.documents)


def _sets(document: dict[str, Any], path: str) -> bool:
    identity = identify(document)
    if not identity.is_main:
        return path == str(identity) or path.startswith(f"{identity}.")
    rows = [row for row in MAIN if path == row or path.startswith(f"{row}.")]
    return any(at(document, row) is not None for row in rows)

"""Configs as patches on what another tool generates: shared ones once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.importing.deltas import delta
from talops.importing.model import FoundNode
from talops.importing.patches import arrange
from talops.machineconfig import yamltext
from talops.machineconfig.patches.reading import apply_patches, make_patch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from talops.importing.deltas import Operation
    from talops.importing.exports.model import Exported
    from talops.importing.model import Document
    from talops.importing.patches import PatchFile
    from talops.machineconfig.contract import Contract

_ROUNDS = 4


def patches_on(
    exported: Exported, bases: Mapping[str, Sequence[Document]], contract: Contract
) -> dict[str, dict[str, str]]:
    """Texts by `all`, `control-plane`, `worker` and the names of nodes; {} has none."""
    nodes = [
        FoundNode(node.name, node.address, node.controller, exported.configs[node.name])
        for node in exported.cluster.nodes
    ]
    deltas = {n.name: delta(bases[n.name], n.documents, contract) for n in nodes}
    extra: dict[str, dict[Any, Operation]] = {}
    for _ in range(_ROUNDS):
        found = arrange(nodes, deltas, extra=extra)
        missing: dict[str, tuple[Operation, ...]] = {}
        for node in nodes:
            role = found.controllers if node.controller else found.workers
            files = [*found.everyone, *role, *found.nodes.get(node.name, ())]
            patches = [make_patch(file.documents, where=file.path) for file in files]
            made = apply_patches([*bases[node.name]], patches, contract)
            if rest := delta(made, node.documents, contract):
                missing[node.name] = rest
        if not missing:
            break
        for name, operations in missing.items():
            own = extra.setdefault(name, {})
            own.update({(one.identity, one.path): one for one in operations})
    else:
        raise TalopsError(f"the config of {next(iter(missing))} cannot be written as patches")
    return {
        "all": _texts(found.everyone),
        "control-plane": _texts(found.controllers),
        "worker": _texts(found.workers),
        **{name: _texts(files) for name, files in found.nodes.items()},
    }


def _texts(files: Sequence[PatchFile]) -> dict[str, str]:
    """Plain and secret parts apart, in the order in which they apply."""
    return {
        f"{place:02}-{'secrets' if file.sealed else 'talops'}.yaml": "---\n".join(
            yamltext.dump(document) for document in file.documents
        )
        for place, file in enumerate(files)
    }

"""Is a machine config one that Talos will take, and that will work? All problems in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation import cluster, documents, machine, shape
from talops.machineconfig.validation.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.contract import Contract


def find_problems(config: Sequence[Any], contract: Contract | None = None) -> list[str]:
    """Everything that is wrong, in Talos' own words where it has some; no contract: any will do."""
    malformed = list(shape.problems(config, contract))
    if malformed:  # the other checks rely on the shape
        return malformed
    view = View.of(config)
    if view is None:
        return ["machine instructions are required"]
    return [
        *machine.problems(view),
        *cluster.problems(view),
        *documents.problems(view),
    ]

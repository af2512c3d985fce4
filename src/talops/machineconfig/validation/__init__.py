"""Validate a machine config, and report all problems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation import cluster, documents, machine, shape
from talops.machineconfig.validation.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.contract import Contract


def find_problems(config: Sequence[Any], contract: Contract | None = None) -> list[str]:
    """All problems, with the messages of Talos if possible; without a contract, any is valid."""
    malformed = list(shape.problems(config, contract))
    if malformed:  # the other checks require a valid structure
        return malformed
    view = View.of(config)
    if view is None:
        return ["machine instructions are required"]
    return [
        *machine.problems(view),
        *cluster.problems(view),
        *documents.problems(view),
    ]

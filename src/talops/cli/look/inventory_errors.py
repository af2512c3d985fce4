"""Load the inventory for a command, or report every problem on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from talops.cli.output import note
from talops.errors import InventoryError

if TYPE_CHECKING:
    from talops.inventory.model import Cluster


def load_or_report(directory: Path) -> Cluster:
    from talops.inventory.load import load
    from talops.inventory.problems import errors

    loaded = load(directory)
    if loaded.cluster is not None:
        return loaded.cluster
    wrong = errors(list(loaded.problems))
    for problem in wrong:
        note(str(problem))
    count = "1 problem" if len(wrong) == 1 else f"{len(wrong)} problems"
    raise InventoryError(f"the inventory has {count}", hint="talops check")

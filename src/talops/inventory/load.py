"""Load a directory: a Cluster, or every problem at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import InventoryError
from talops.inventory.credentials import credential_problems
from talops.inventory.locate import Locator
from talops.inventory.named_files import named_file_problems
from talops.inventory.parse import parse
from talops.inventory.patches import patch_problems
from talops.inventory.problems import errors, in_order
from talops.inventory.resolve import resolve
from talops.inventory.rules import broken_rules
from talops.inventory.source import read, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.problems import FileProblem

CLUSTER_FILE = "cluster.yaml"
NODES_FILE = "nodes.yaml"


@dataclass(frozen=True)
class Loaded:
    """`cluster` is set if and only if no problem is an error."""

    cluster: Cluster | None
    problems: tuple[FileProblem, ...]

    def require(self) -> Cluster:
        if self.cluster is not None:
            return self.cluster
        wrong = errors(list(self.problems))
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InventoryError(
            f"{wrong[0].what}{more}", where=str(wrong[0].where), hint="talops check"
        )


def load(directory: Path) -> Loaded:
    cluster_document, unreadable = read(directory / CLUSTER_FILE, directory)
    nodes_document, more = read(directory / NODES_FILE, directory)
    problems = [*unreadable, *more]
    if any(problem.rule in _WHOLE_FILE for problem in problems):
        return Loaded(None, tuple(in_order(problems)))
    inventory, refused = parse(Locator(cluster_document, nodes_document))
    problems += refused
    problems += broken_rules(inventory)
    problems += credential_problems(cluster_document, directory)
    problems += patch_problems(inventory, directory)
    problems += named_file_problems(inventory, directory)
    cluster = None if errors(problems) else resolve(inventory)
    return Loaded(cluster, tuple(in_order(problems)))


def load_texts(cluster: str, nodes: str) -> Loaded:
    """An inventory that is not written yet; files that it names are not looked for."""
    cluster_document, unreadable = read_text(cluster, CLUSTER_FILE)
    nodes_document, more = read_text(nodes, NODES_FILE)
    problems = [*unreadable, *more]
    if any(problem.rule in _WHOLE_FILE for problem in problems):
        return Loaded(None, tuple(in_order(problems)))
    inventory, refused = parse(Locator(cluster_document, nodes_document))
    problems += refused
    problems += broken_rules(inventory)
    resolved = None if errors(problems) else resolve(inventory)
    return Loaded(resolved, tuple(in_order(problems)))


# After these there are no values to check; further problems would be noise.
_WHOLE_FILE = {
    "missing-file",
    "unreadable",
    "outside-tree",
    "too-large",
    "encoding",
    "too-deep",
    "alias-bomb",
    "yaml",
}

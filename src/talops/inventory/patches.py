"""Patch files must exist inside the directory of the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.problems import FileProblem, Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from talops.inventory.parse import Inventory


def patch_problems(inv: Inventory, directory: Path) -> list[FileProblem]:
    root = directory.resolve()
    problems = []
    for place, name in _paths(inv):
        target = (directory / name).resolve()
        if not target.is_relative_to(root):
            what, hint = f"patch {name} is outside this directory", "copy it into this directory"
        elif not target.is_file():
            what, hint = f"patch file {name} does not exist", "create it, or remove the entry"
        else:
            continue
        problems.append(FileProblem("patch-file", place, what, hint))
    return problems


def _paths(inv: Inventory) -> Iterator[tuple[Position, str]]:
    for key in ("patches", "controller_patches", "worker_patches"):
        for slot, name in _named(getattr(inv.cluster, key)):
            yield inv.at.cluster_value(key, slot), name
    for index, node in enumerate(inv.nodes):
        for slot, name in _named(node.patches):
            yield inv.at.node_value(index, "patches", slot), name


def _named(patches: Sequence[Any] | None) -> Iterator[tuple[int, str]]:
    return ((slot, p) for slot, p in enumerate(patches or []) if isinstance(p, str))

"""Nodes that the inventory protects: no command destroys, replaces or resets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node


def require_unprotected(nodes: Iterable[Node], verb: str) -> None:
    """Raise before anything happens to a protected node; no option opens it."""
    protected = [node.name for node in nodes if node.protected]
    if protected:
        names = ", ".join(protected)
        raise ConflictError(
            f"refused to {verb} {names}: protected in the inventory; nothing was changed",
            where="nodes.yaml",
            hint=f"remove `protected: true` of {names}, then run the same command again",
        )

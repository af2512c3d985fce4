"""Which nodes may be removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Removable:
    """`names`: nodes that may be removed. `asks`: the user confirms the plan that shows them."""

    names: frozenset[str] = frozenset()
    asks: bool = False

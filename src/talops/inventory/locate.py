"""Positions of values in both files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.inventory.source import Document, Loc
    from talops.problems import Position


@dataclass(frozen=True)
class Locator:
    cluster: Document
    nodes: Document

    def cluster_key(self, *loc: str | int) -> Position:
        return self.cluster.key(loc)

    def cluster_value(self, *loc: str | int) -> Position:
        return self.cluster.value(loc)

    def node_key(self, index: int, *loc: str | int) -> Position:
        return self.nodes.key(self._node(index, loc))

    def node_value(self, index: int, *loc: str | int) -> Position:
        return self.nodes.value(self._node(index, loc))

    def gives(self, key: str) -> bool:
        """Whether cluster.yaml sets all these keys, valid or not."""
        data = self.cluster.data
        return not isinstance(data, dict | None) or (data or {}).get(key) not in (None, "")

    def node_gives(self, index: int, key: str) -> bool:
        entry = self.nodes.data["nodes"][index]
        return not isinstance(entry, dict) or entry.get(key) not in (None, "")

    @staticmethod
    def _node(index: int, loc: Loc) -> Loc:
        return ("nodes", index, *loc)

"""Nodes that the inventory protects: no command destroys, replaces or resets them.

Their names are remembered: a node does not lose its protection with its entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.site.state.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node
    from talops.site.site import ClosedSite


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


class Protected:
    """Names of nodes that are protected, or were when their entries were deleted."""

    def __init__(self, site: ClosedSite) -> None:
        self._cluster = site.cluster
        self._record = Remembered(site, "protected", "protected nodes", "no deleted node is left")
        # What this run read or wrote: the record changes with the inventory only.
        self._known: dict[str, str] | None = None

    async def keep(self) -> None:
        """Who takes `protected: true` away from an entry takes the protection away."""
        before = await self._read()
        own = {node.name for node in self._cluster.nodes}
        now = {name: "" for name in before if name not in own}
        now |= {node.name: "" for node in self._cluster.nodes if node.protected}
        if now != before:
            await self._record.write(now)
            self._known = now

    async def names(self) -> frozenset[str]:
        """Without entries now."""
        return frozenset(await self._read()) - {node.name for node in self._cluster.nodes}

    async def require_none_left(self) -> None:
        """Raise before everything of the cluster is destroyed."""
        await self.require_unprotected(await self.names())

    async def require_unprotected(self, names: Iterable[str]) -> None:
        """Raise before a node without an entry is removed."""
        if found := sorted({*names} & (await self._read()).keys()):
            listed = ", ".join(found)
            raise ConflictError(
                f"refused to remove {listed}: protected when its entry was deleted; "
                "nothing was changed",
                where="nodes.yaml",
                hint=f"put the entry of {found[0]} back without `protected: true`, run talops up, "
                "then delete it again",
            )

    async def _read(self) -> dict[str, str]:
        if self._known is None:
            self._known = await self._record.read()
        return self._known

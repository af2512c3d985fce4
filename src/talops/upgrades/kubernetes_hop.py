"""What the stage `upgrade` needs of an upgrade of Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.upgrades.versions import Span


class KubernetesHop(Protocol):
    """Kubernetes of the whole cluster, moved by at most one minor; safe to repeat."""

    async def look(self) -> Span:
        """The oldest and the newest version of all components; UnreachableError without answer."""
        ...

    async def problems(self, to: str) -> Sequence[str]:
        """What must change before Kubernetes can move to this version; reads only."""
        ...

    async def run(self, to: str) -> None:
        """Move every component to this version, and prove it."""
        ...

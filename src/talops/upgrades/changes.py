"""What the stage `upgrade` knows, and its changes: one for each hop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact, Item
from talops.pipeline.stage import Change
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.errors import TalopsError
    from talops.inventory.model import Cluster, Node
    from talops.upgrades.breaking import Breakage
    from talops.upgrades.path import Hop, Part
    from talops.upgrades.seen import NodeSeen
    from talops.upgrades.versions import Span


@dataclass(frozen=True)
class Facts:
    """`kubernetes`: None if no component answers. `findings`: what the way to the wanted Talos
    breaks; `problems`: what stands between the running Kubernetes and the next one. `managed`: what
    tuppr upgrades instead.
    """

    nodes: tuple[NodeSeen, ...] = ()
    kubernetes: Span | None = None
    unread: TalopsError | None = None
    findings: tuple[Breakage, ...] = ()
    problems: tuple[str, ...] = ()
    managed: frozenset[Part] = frozenset()


@dataclass(frozen=True)
class HopChange(Change):
    """`objects`: what changes, in its order."""

    hop: Hop | None = None
    objects: tuple[Item, ...] = ()

    @property
    def impact(self) -> Impact:
        return max((item.impact for item in self.objects), default=Impact.NONE)

    def items(self) -> tuple[Item, ...]:
        return self.objects


def of_kubernetes(hop: Hop) -> HopChange:
    """Its components restart one by one; nodes and their pods do not."""
    title, detail = str(hop), "without restarts of nodes"
    item = Item(title, Impact.RESTARTS_SERVICE, title, detail, scheduled=True)
    return HopChange("upgrade", title, detail, hop=hop, objects=(item,))


def of_talos(
    hop: Hop, nodes: Sequence[Node], cluster: Cluster, advice: Sequence[Breakage]
) -> HopChange:
    """Every node that restarts. `advice`: what does not refuse the hop."""
    planes = len(cluster.control_planes)
    items = tuple(
        Item(
            node.name,
            Impact.RESTARTS,
            node.name,
            str(hop),
            node=node.name,
            drains=len(cluster.nodes) > 1,
            members=(planes, planes - 1, planes) if node.controller else (),
        )
        for node in sorted(nodes, key=lambda each: not each.controller)
    )
    told = [f"{each.name}: {each.what}: {each.hint}" for each in advice]
    detail = "; ".join([_order(nodes), *told])
    return HopChange("upgrade", str(hop), detail, hop=hop, objects=items)


def _order(nodes: Sequence[Node]) -> str:
    planes = [node.name for node in nodes if node.controller]
    workers = [node.name for node in nodes if not node.controller]
    parts = []
    if planes:
        parts.append(f"{count(len(planes), 'control plane')} one by one")
    if workers:
        parts.append(count(len(workers), "worker"))
    return f"{', then '.join(parts)}: {', '.join([*planes, *workers])}"

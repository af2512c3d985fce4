"""What each node runs: its Talos, the schematic of its image, and its config."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.machineconfig import images
from talops.talos.kinds import EXTENSIONS, SCHEMATIC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Cluster, Node
    from talops.site.fleet import Fleet


@dataclass(frozen=True)
class Goal:
    """What a node runs after a hop."""

    version: str
    schematic: str
    image: str


@dataclass(frozen=True)
class NodeSeen:
    """`schematic`: empty if the image is not from an Image Factory."""

    name: str
    talos: str
    schematic: str = ""
    config: str = field(default="", repr=False)

    def runs(self, goal: Goal) -> bool:
        return (self.talos, self.schematic) == (goal.version, goal.schematic)


def goal_of(cluster: Cluster, node: Node, version: str) -> Goal:
    image = images.installer(
        cluster.image_factory_url,
        node.image.schematic,
        version,
        platform=node.image.platform,
        secureboot=node.image.secureboot,
    )
    return Goal(version, node.image.schematic, image)


async def look_at(fleet: Fleet, node: Node, config: str = "") -> NodeSeen:
    async with fleet.talos(node) as talos:
        version, extensions = await asyncio.gather(talos.version(), talos.resources.all(EXTENSIONS))
    schematic = next((e.version for e in extensions if e.name == SCHEMATIC), "")
    return NodeSeen(node.name, version.tag, schematic, config)


async def look_at_all(fleet: Fleet, configs: Iterable[tuple[Node, str]]) -> tuple[NodeSeen, ...]:
    """Each node with the config that it runs."""
    return tuple(await asyncio.gather(*(look_at(fleet, node, config) for node, config in configs)))

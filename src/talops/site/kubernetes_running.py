"""The versions of Kubernetes that a new node gets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.machineconfig.kubernetes_images import Component, numbers, read, versions
from talops.site.fleet import Configured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory.model import Node
    from talops.machineconfig.kubernetes_images import Versions
    from talops.site.fleet import Fleet, State


async def versions_of_new_nodes(
    fleet: Fleet, planes: Sequence[Node], states: Mapping[str, State]
) -> Versions:
    """The version of the oldest API server that runs, because no component may be newer.

    Empty if no control plane runs a config: then the inventory decides.
    """
    known = [states[node.name] for node in planes if node.name in states]
    unknown = [node for node in planes if node.name not in states]
    known += await asyncio.gather(*(fleet.look(node) for node in unknown))
    found = [
        versions(read(state.config)).get(Component.API_SERVER)
        for state in known
        if isinstance(state, Configured) and state.config
    ]
    oldest = min(filter(None, found), key=numbers, default="")
    return dict.fromkeys(Component, oldest) if oldest else {}

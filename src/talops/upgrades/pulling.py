"""Installer images are on all nodes before the first one is drained.

An image that does not exist, or a registry that does not answer, then stops an upgrade while
nothing has changed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.talos.calls.upgrade import Dialect, dialect_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet

AT_ONCE = 10


async def pull_on_all(fleet: Fleet, wanted: Sequence[tuple[Node, str]], report: Reporter) -> None:
    """All nodes try, so that one run names all that fail."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def attempt(node: Node, image: str) -> TalopsError | None:
        async with gate:
            report.log(f"{node.name}: pulling {image}")
            try:
                await pull(fleet, node, image)
            except TalopsError as error:
                return error
        return None

    outcomes = await asyncio.gather(*(attempt(node, image) for node, image in wanted))
    pairs = zip(wanted, outcomes, strict=True)
    failed = {node.name: error for (node, _), error in pairs if error is not None}
    if failed:
        first = next(iter(failed.values()))
        raise TalopsError(
            f"the installer image cannot be pulled on {', '.join(failed)}: {first.what}",
            where=first.where,
            hint="no node was changed; check the network of the node, registry_mirrors and "
            "image_factory_url, then: talops up",
        )


async def pull(fleet: Fleet, node: Node, image: str) -> str:
    """The name under which the node stores the image."""
    async with fleet.talos(node) as talos:
        if dialect_of((await talos.version()).release) is Dialect.LEGACY:
            await talos.upgrade.pull_legacy(image)
            return image
        return await talos.upgrade.pull(image)

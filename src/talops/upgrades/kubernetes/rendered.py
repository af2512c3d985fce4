"""The bootstrap manifests as Talos renders them on a control plane."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.talos.calls.upgrade import Dialect, dialect_of
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Node
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet
    from talops.site.site import Limits

_MANIFESTS = ("controlplane", "Manifests.kubernetes.talos.dev")
_PROXY = "kube-proxy"


async def rendered(
    fleet: Fleet, node: Node, proxy: str, limits: Limits, report: Reporter
) -> list[Object]:
    """In the order of their files; as soon as kube-proxy, if there is one, has the new image."""

    async def probe() -> Ready[list[Object]] | NotYet:
        async with fleet.talos(node) as talos:
            files = await talos.resources.list(*_MANIFESTS)
        objects = [obj for file in sorted(files, key=lambda f: f.id) for obj in file.spec or ()]
        image = _image_of_proxy(objects)
        if image and proxy and image != proxy:
            return NotYet(f"the manifest of kube-proxy still names {image}")
        return Ready(objects)

    return await wait_for(
        f"bootstrap manifests of {node.name}",
        probe,
        timeout=limits.kubernetes,
        interval=limits.interval,
        report=report.waiting,
        hint=f"talops talos get manifests --nodes {node.address}; then: talops up",
    )


def _image_of_proxy(objects: Iterable[Object]) -> str:
    for obj in objects:
        if (obj["kind"], obj["metadata"]["name"]) == ("DaemonSet", _PROXY):
            containers = obj["spec"]["template"]["spec"]["containers"]
            return next((str(c["image"]) for c in containers if c["name"] == _PROXY), "")
    return ""


async def keep_inventory(fleet: Fleet, nodes: Iterable[Node]) -> bool:
    """Whether all of them run a Talos that keeps an inventory of its manifests: 1.13 or newer."""

    async def modern(node: Node) -> bool:
        async with fleet.talos(node) as talos:
            return dialect_of((await talos.version()).release) is Dialect.LIFECYCLE

    return all(await asyncio.gather(*map(modern, nodes)))

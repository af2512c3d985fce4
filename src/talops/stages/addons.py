"""Stage `addons`: what a cluster needs before Flux can take over, and no longer than that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.delivery.helm import render
from talops.delivery.objects import (
    Look,
    ObjectChange,
    bring,
    client,
    connected,
    look,
    wait_until_ready,
)
from talops.delivery.releases import fetch
from talops.gitops.addons import wanted
from talops.gitops.catalog import source
from talops.gitops.placing import installed, placed
from talops.kube.objects import read_manifest
from talops.pipeline.stage import Absent

if TYPE_CHECKING:
    from talops.gitops.addons import Addon
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """Add-ons of which something differs, each with what was seen of it."""

    pending: tuple[tuple[str, Look], ...] = ()


class Addons:
    name = "addons"
    independent = False

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report
        self._objects: dict[str, list[Object]] = {}

    async def observe(self) -> Facts | Absent:
        """Charts are fetched and rendered first: a wrong checksum shows before any VM is made."""
        addons = wanted(self._site.cluster, self._site.credentials)
        if not addons:
            return Facts()
        rendered = await asyncio.gather(*(self._render(addon) for addon in addons))
        self._objects = {a.name: objs for a, objs in zip(addons, rendered, strict=True)}
        kube = client(self._site)
        if kube is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        pending = []
        async with kube:
            for name, objects in self._objects.items():
                seen = await look(kube, objects)
                if not seen.done:
                    pending.append((name, seen))
        return Facts(tuple(pending))

    def plan(self, facts: Facts) -> list[ObjectChange]:
        return [
            ObjectChange("apply", name, f"{len(seen.differing)} objects", gentle=seen.gentle)
            if seen.differing
            else ObjectChange("leave to Flux", name, f"{len(seen.to_release)} objects", gentle=True)
            for name, seen in facts.pending
        ]

    async def apply(self, change: ObjectChange) -> None:
        async with connected(self._site) as kube:
            await bring(kube, self._objects[change.target], self._site, self._report)

    async def verify(self) -> None:
        if not self._objects:
            return
        async with connected(self._site) as kube:
            for objects in self._objects.values():
                await wait_until_ready(kube, objects, self._site, self._report)

    async def _render(self, addon: Addon) -> list[Object]:
        if addon.release is None:
            return list(addon.own)
        chosen = source(self._site.cluster, addon.release)
        content = await fetch(chosen, self._site.root)
        text = content.decode(errors="replace")
        if chosen.is_chart:
            text = await render(self._site, chosen, content, addon.values, addon.user_values)
        objects = installed(read_manifest(text, chosen.url))
        return [*addon.own, *placed(objects, chosen.namespace)]

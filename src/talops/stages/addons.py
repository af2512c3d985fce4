"""Stage `addons`: deploy what a cluster needs before Flux takes over, and only until then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.delivery.helm import render
from talops.delivery.objects import (
    ObjectChange,
    ObjectDifferences,
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
from talops.kube.objects import Ref, read_manifest
from talops.pipeline.stage import Absent, Stage
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.gitops.addons import Addon, Lacking
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """Add-ons that differ from the cluster, with their differences; the objects of all add-ons."""

    pending: tuple[tuple[str, ObjectDifferences], ...] = ()
    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict, repr=False)


class Addons(Stage[Facts, ObjectChange]):
    name = "addons"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report

    async def observe(self) -> Facts | Absent:
        """Render charts first: a wrong checksum is reported before any VM is created."""
        every = wanted(self._site.cluster, self._site.credentials)
        await self._require([addon.lacking for addon in every if addon.lacking])
        addons = [addon for addon in every if addon.lacking is None]
        if not addons:
            return Facts()
        rendered = await asyncio.gather(*(self._render(addon) for addon in addons))
        objects_of = {a.name: tuple(objs) for a, objs in zip(addons, rendered, strict=True)}
        kube = client(self._site)
        if kube is None:
            return Absent("kubeconfig", "there is no kubeconfig yet")
        pending = []
        async with kube:
            for name, objects in objects_of.items():
                seen = await look(kube, objects)
                if not seen.done:
                    pending.append((name, seen))
        return Facts(tuple(pending), objects_of)

    def plan(self, facts: Facts) -> list[ObjectChange]:
        return [_change(name, seen, facts.objects[name]) for name, seen in facts.pending]

    async def apply(self, change: ObjectChange) -> None:
        async with connected(self._site) as kube:
            await bring(kube, change.objects, self._site, self._report)

    async def verify(self, seen: Seen[Facts, ObjectChange], /) -> None:
        if not seen.facts.objects:
            return
        async with connected(self._site) as kube:
            for objects in seen.facts.objects.values():
                await wait_until_ready(kube, objects, self._site, self._report)

    async def _require(self, missing: Sequence[Lacking]) -> None:
        """What an older version stored stays in use, with a warning; nothing new is made of it."""
        for lacking in missing:
            kube = client(self._site)
            if kube is None:
                raise lacking.error
            ref = Ref("v1", "Secret", lacking.secret, lacking.namespace)
            async with kube:
                if await kube.get(ref) is None:
                    raise lacking.error
            self._report.note(
                f"{ref} keeps its Proxmox token: {lacking.error.what}",
                level="warning",
                hint=lacking.error.hint,
            )

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


def _change(name: str, seen: ObjectDifferences, objects: tuple[Object, ...]) -> ObjectChange:
    if seen.differing:
        detail = count(len(seen.differing), "object")
        return ObjectChange("apply", name, detail, gentle=seen.gentle, objects=objects)
    detail = f"{count(len(seen.to_release), 'object')} to Flux"
    return ObjectChange("release", name, detail, gentle=True, objects=objects)

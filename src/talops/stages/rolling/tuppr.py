"""Stage `upgrade` with `upgrades: tuppr`: tuppr gets the wanted versions, and upgrades to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.delivery.objects import ObjectChange, ObjectDifferences, bring, client, connected, look
from talops.kube.tuppr import KINDS, progress_of, upgrades
from talops.pipeline.stage import Absent, Stage
from talops.upgrades.tuppr import LABELS, objects, unrendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site
    from talops.upgrades.path import Part


@dataclass(frozen=True)
class Facts:
    """How the objects of tuppr differ from the inventory, where talops manages them."""

    pending: Mapping[Part, ObjectDifferences]


class Tuppr(Stage[Facts, ObjectChange]):
    """It does not wait for tuppr, which works at its own times; `talops status` shows versions."""

    name = "upgrade"
    proven_by_look = True

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report
        self._told = False

    async def observe(self) -> Facts | Absent:
        kube = client(self._site)
        if kube is None:
            return Facts({})  # the first run of a cluster: Flux installs tuppr later
        async with kube:
            seen = await upgrades(kube)
            own = {p: o for p, o in objects(self._site.cluster).items() if _is_ours(seen.get(p))}
            pending = {part: await look(kube, [obj]) for part, obj in own.items()}
        self._tell(seen)
        return Facts({part: found for part, found in pending.items() if not found.done})

    def plan(self, facts: Facts) -> list[ObjectChange]:
        wanted = objects(self._site.cluster)
        return [
            ObjectChange(
                "apply" if found.differing else "release",
                f"{KINDS[part]} {wanted[part]['metadata']['name']}",
                f"tuppr upgrades {part} to {_version(wanted[part])}"
                if found.differing
                else "to Flux",
                gentle=not found.differing,
                objects=(wanted[part],),
            )
            for part, found in facts.pending.items()
        ]

    async def apply(self, change: ObjectChange) -> None:
        async with connected(self._site) as kube:
            await bring(kube, change.objects, self._site, self._report)

    async def verify(self, _: Seen[Facts, ObjectChange], /) -> None:
        """An object is what it should be once it is accepted."""

    def _tell(self, seen: Mapping[str, list[Object]]) -> None:
        if self._told:
            return
        self._told = True
        for part, kind in KINDS.items():
            if part not in seen:
                self._report.note(
                    f"{kind} is not installed: nothing upgrades {part} of this cluster",
                    level="warning",
                    hint="install tuppr, or remove `upgrades: tuppr` from cluster.yaml",
                )
            elif not _is_ours(seen[part]):
                names = ", ".join(obj["metadata"]["name"] for obj in seen[part])
                self._report.note(
                    f"{kind} {names} is not from talops: change the version where it is managed",
                    hint=progress_of(part),
                )
        if gates := unrendered(self._site.cluster):
            self._report.note(
                f"tuppr does not ask these gates, which are not expressions: {', '.join(gates)}",
                level="warning",
            )


def _is_ours(listed: list[Object] | None) -> bool:
    """Whether tuppr is installed, and no other object of this kind competes with ours."""
    if listed is None:
        return False
    key, value = next(iter(LABELS.items()))
    return all((obj["metadata"].get("labels") or {}).get(key) == value for obj in listed)


def _version(obj: Object) -> str:
    spec = obj["spec"]
    return str((spec.get("talos") or spec.get("kubernetes"))["version"])

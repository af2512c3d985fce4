"""Stage `images`: register every schematic with the Image Factory, so that its images exist."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.inventory.schematics import schematic_text
from talops.pipeline.stage import Change, Stage
from talops.site.proxmox.image_files import absent_images
from talops.talos.image_factory import ImageFactory
from talops.upgrades.versions import minor, newest_release

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """Schematic ID → known; one that is given by ID alone cannot be registered. `releases`: the
    Talos versions that the factory has; None if that is not known, or if no image is missing.
    """

    known: dict[str, bool]
    releases: frozenset[str] | None = None


@dataclass(frozen=True)
class SchematicChange(Change):
    schematic: str = ""


class Images(Stage[Facts, SchematicChange]):
    name = "images"
    proven_by_look = True

    def __init__(self, site: Site, report: Reporter) -> None:
        cluster = site.cluster
        self._site = site
        self._report = report
        ca_file = cluster.image_factory_ca_file
        self._factory = ImageFactory(
            cluster.image_factory_url, ca_file=str(site.root / ca_file) if ca_file else None
        )
        self._texts = {
            node.image.schematic: schematic_text(node.extensions)
            for node in cluster.nodes
            if node.extensions is not None
        }
        self._wanted = tuple(dict.fromkeys(node.image.schematic for node in cluster.nodes))

    async def observe(self) -> Facts:
        try:
            known, releases = await asyncio.gather(
                asyncio.gather(*(self._factory.knows(name) for name in self._wanted)),
                self._factory.versions(),
            )
            return Facts(dict(zip(self._wanted, known, strict=True)), releases)
        except UnreachableError:
            # If every image is already on its storage, no factory is needed.
            if await absent_images(self._site):
                raise
            return Facts(dict.fromkeys(self._wanted, True))

    def plan(self, facts: Facts) -> list[SchematicChange]:
        if facts.releases is not None:
            self._require_release(facts.releases)
        missing = [name for name, known in facts.known.items() if not known]
        foreign = [name for name in missing if name not in self._texts]
        if foreign:
            raise TalopsError(
                f"the Image Factory does not know schematic {foreign[0]}",
                where=self._factory.url,
                hint="correct schematic_id in nodes.yaml, or use `extensions` instead",
            )
        return [SchematicChange("register", n[:12], "schematic", schematic=n) for n in missing]

    def _require_release(self, releases: frozenset[str]) -> None:
        """Known before anything that refers to the images of another version changes."""
        wanted = self._site.cluster.talos_version
        if wanted in releases:
            return
        same = newest_release(releases, minor(wanted))
        raise TalopsError(
            f"the Image Factory has no Talos {wanted}",
            where=f"{self._factory.url}/versions",
            hint=f"set talos_version: {same}" if same else "correct talos_version",
        )

    async def apply(self, change: SchematicChange) -> None:
        name = change.schematic
        given = await self._factory.register(self._texts[name])
        if given != name:
            raise TalopsError(
                f"the Image Factory returned schematic {given}, but talops computed {name}",
                where=self._factory.url,
                hint="set schematic_id to the factory's ID, and report a bug",
            )

    async def verify(self, _: Seen[Facts, SchematicChange], /) -> None:
        if self.plan(await self.observe()):
            raise TalopsError("a schematic is still not registered", where=self._factory.url)

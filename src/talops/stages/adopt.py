"""Stage `adopt`: import existing VMs and images of this cluster into a state that was lost."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from talops.adoption import completing
from talops.adoption.claims import (
    Claim,
    PlannedVm,
    claim_images,
    claim_vms,
    image_address,
    wishes,
)
from talops.errors import ConflictError, DeniedError, TalopsError
from talops.files import PRIVATE, write_atomic
from talops.pipeline.stage import Absent, Change, Stage
from talops.proxmox import storage
from talops.proxmox.client import Client
from talops.proxmox.guests import guests
from talops.render.layers import layers, platform
from talops.render.values import platform_values
from talops.site import layer_access as access
from talops.site.proxmox.access import access_of
from talops.site.proxmox.wanted import wanted
from talops.site.state.copies import copies_around
from talops.stages.configure import pending_files
from talops.tofu.apply import fleeting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.layer import Layer
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site
    from talops.tofu.engine import Engine


IMPORT, COMPLETE = "import", "complete"


@dataclass(frozen=True)
class Facts:
    """What to import, what matches only partly, and layers whose state has gaps."""

    claims: tuple[Claim, ...] = ()
    doubts: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class AdoptChange(Change):
    layer: str = ""
    address: str = ""
    identity: str = ""


class Adopt(Stage[Facts, AdoptChange]):
    name = "adopt"

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report
        # One OpenTofu per layer directory at a time; other stages ask through `pending`.
        self._looking = asyncio.Lock()

    @property
    def _layers(self) -> dict[str, Layer]:
        return {layer.name: layer.at(self._site.root) for layer in layers(self._site.cluster)}

    async def observe(self) -> Facts | Absent:
        if pending_files(self._site.cluster, self._site.root):
            return Absent("configure", "the OpenTofu files will change first")
        async with self._looking:
            return await self._look()

    async def pending(self) -> bool:
        """Whether imports must run before a plan is meaningful."""
        return self.pending_in(await self.observe())

    @staticmethod
    def pending_in(facts: Facts | Absent) -> bool:
        return isinstance(facts, Facts) and bool(facts.claims or facts.doubts or facts.gaps)

    def plan(self, facts: Facts) -> list[AdoptChange]:
        if facts.doubts:
            raise ConflictError(
                "some VMs match this cluster only partly; nothing was imported:\n  "
                + "\n  ".join(facts.doubts),
                where=self._site.cluster.proxmox.api_url if self._site.cluster.proxmox else None,
                hint=(
                    "correct nodes.yaml, or change or remove these VMs in Proxmox; then: talops "
                    "recover"
                ),
            )
        changes = [
            AdoptChange(IMPORT, c.what, f"is {c.identity}", None, c.layer, c.address, c.identity)
            for c in facts.claims
        ]
        touched = dict.fromkeys([*(claim.layer for claim in facts.claims), *facts.gaps])
        detail = "attributes that an import cannot read"
        return [*changes, *(AdoptChange(COMPLETE, name, detail, layer=name) for name in touched)]

    async def apply(self, change: AdoptChange) -> None:
        layer = self._layers[change.layer]
        engine = await self._engine(layer)
        with copies_around(self._site.root, self._site.cluster):
            if change.action == IMPORT:
                await engine.import_resource(change.address, change.identity)
            else:
                await self._complete(engine, layer)

    async def verify(self, _: Seen[Facts, AdoptChange], /) -> None:
        facts = await self.observe()
        if self.pending_in(facts):
            assert isinstance(facts, Facts)
            left = ", ".join([*(claim.what for claim in facts.claims), *facts.doubts, *facts.gaps])
            raise TalopsError(f"still not in the state: {left}", hint="talops recover")

    async def _look(self) -> Facts:
        cluster = self._site.cluster
        documents = {name: await self._document(layer) for name, layer in self._layers.items()}
        listed = {name: completing.addresses(found) for name, found in documents.items()}
        gaps = tuple(name for name, found in documents.items() if completing.incomplete(found))
        missing = [w for w in wishes(cluster, wanted(cluster)) if w.address not in listed[w.layer]]
        known = listed[platform(cluster).name]
        images = {k: i for k, i in self._images().items() if image_address(k) not in known}
        if not missing and not images:
            return Facts(gaps=gaps)
        return replace(await self._compare(missing, images), gaps=gaps)

    def _images(self) -> Mapping[str, Mapping[str, str]]:
        cluster = self._site.cluster
        assert cluster.proxmox
        found: Mapping[str, Mapping[str, str]] = platform_values(cluster, cluster.proxmox)["images"]
        return found

    async def _compare(
        self, missing: Iterable[PlannedVm], images: Mapping[str, Mapping[str, str]]
    ) -> Facts:
        """Compare every VM that is missing from the state with the existing VMs."""
        cluster = self._site.cluster
        assert cluster.proxmox
        reached = access_of(self._site)
        if reached is None:
            raise DeniedError(
                "no credentials for Proxmox", hint="talops host prepare --user root@pam"
            )
        place = cluster.proxmox.iso_storage
        async with Client(reached) as client:
            claims, doubts = claim_vms(missing, await guests(client))
            hosts = sorted({image["host"] for image in images.values()})
            there = {
                f"{host}/{volume}"
                for host in hosts
                for volume in await storage.files(client, host, place)
            }
        files = claim_images(platform(cluster).name, images, place, there)
        return Facts((*files, *claims), tuple(doubts))

    async def _document(self, layer: Layer) -> dict[str, Any]:
        """The state of the layer; empty if it does not exist."""
        text = await (await self._engine(layer)).state_pull()
        return dict(json.loads(text)) if text.strip() else {}

    async def _complete(self, engine: Engine, layer: Layer) -> None:
        proxmox = self._site.cluster.proxmox
        assert proxmox
        urls = {image_address(key): image["url"] for key, image in self._images().items()}
        document = completing.complete(
            await self._document(layer), urls, qemu_agent=proxmox.advanced.qemu_agent
        )
        file = access.saved_plan(layer).with_suffix(".tfstate")
        with fleeting(file):
            write_atomic(file, json.dumps(document), mode=PRIVATE)
            await engine.state_push(file)

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, self._report.event)
        await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
        return engine

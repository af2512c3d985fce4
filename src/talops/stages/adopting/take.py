"""Stage `adopt`: take what exists into the state of each layer, or refuse it whole.

Each layer is planned aside with import blocks. If that plan would change anything that matters, the
layer is refused with the attribute. Otherwise the state is written in one step: nothing is sent to
Proxmox, and a killed run has either taken in the whole layer or nothing of it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.adoption import completing
from talops.adoption.claims import claim_images, image_address, wishes
from talops.adoption.document import with_imported
from talops.adoption.foundation import asked_of, claim_settings
from talops.adoption.judging import findings
from talops.adoption.matching import Self, match_nodes
from talops.errors import ConflictError, DeniedError, TalopsError
from talops.files import PRIVATE, write_atomic
from talops.pipeline.stage import Absent, Change, Stage
from talops.plural import count
from talops.proxmox import storage
from talops.proxmox.client import Client
from talops.proxmox.guests import guests
from talops.proxmox.settings import Settings, settings
from talops.render.imports import FILE, import_blocks
from talops.render.layers import HYPERVISORS, layers, platform
from talops.render.values import platform_values, reads_hypervisors
from talops.site import layer_access as access
from talops.site.aside import initialised, rendered_aside
from talops.site.enrolment.machine import read_machine
from talops.site.fleet import Configured, named
from talops.site.proxmox.access import access_of
from talops.site.proxmox.wanted import wanted
from talops.site.state.copies import copies_around
from talops.stages.configure import wanted_files
from talops.tofu.apply import fleeting
from talops.tofu.plan import read_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.adoption.claims import Claim, PlannedVm
    from talops.inventory.model import Node
    from talops.layer import Layer
    from talops.pipeline.stage import Reporter, Seen
    from talops.proxmox.facts import Guest
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.tofu.engine import Engine

IMPORT = "import"
Document = dict[str, Any]


@dataclass(frozen=True)
class Taken:
    """One layer: what is missing in its state, and the state with it. `document` is None if the
    layer can be planned only after an earlier one was taken in.
    """

    claims: tuple[Claim, ...]
    document: Document | None = field(default=None, repr=False)
    refused: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """Only layers of which something is missing in the state."""

    layers: Mapping[str, Taken] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class TakeChange(Change):
    layer: str = ""
    taken: Taken = field(default_factory=lambda: Taken(()), repr=False)


class Take(Stage[Facts, TakeChange]):
    name = "adopt"

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        # One OpenTofu per layer directory at a time; the next stage asks through `pending`.
        self._looking = asyncio.Lock()
        # Whether all states were complete when they were last read.
        self._complete: bool | None = None

    @property
    def _layers(self) -> dict[str, Layer]:
        """Without VMs outside of the cluster: no running node proves what they are."""
        every = {layer.name: layer for layer in layers(self._site.cluster)}
        return {
            name: layer.at(self._site.root)
            for name, layer in every.items()
            if name in {HYPERVISORS, platform(self._site.cluster).name}
        }

    async def observe(self) -> Facts | Absent:
        async with self._looking:
            found = await self._look()
            self._complete = not (found.layers or found.doubts)
            return found

    async def pending(self) -> bool:
        """Whether something must be taken in before a plan is meaningful."""
        async with self._looking:
            if self._complete is None:
                self._complete = not any((await self._missing())[1].values())
            return not self._complete

    def plan(self, facts: Facts) -> list[TakeChange]:
        if facts.doubts:
            raise ConflictError(
                "not everything in the inventory exists as it says; nothing was imported:\n  "
                + "\n  ".join(facts.doubts),
                where="nodes.yaml, cluster.yaml",
                hint="correct the inventory, or the objects in Proxmox; what does not exist yet is "
                "added to the inventory after: talops adopt",
            )
        for taken in facts.layers.values():
            self._refuse(taken)
        return [
            TakeChange(IMPORT, name, _detail(taken), layer=name, taken=taken)
            for name, taken in facts.layers.items()
        ]

    async def apply(self, change: TakeChange) -> None:
        layer, taken, self._complete = self._layers[change.layer], change.taken, None
        if taken.document is None:
            state = await self._document(layer)
            taken = await self._planned(layer, state, taken.claims)
            self._refuse(taken)
        assert taken.document is not None
        engine = await self._engine(layer)
        file = access.saved_plan(layer).with_suffix(".tfstate")
        with copies_around(self._site.root, self._site.cluster), fleeting(file):
            write_atomic(file, json.dumps(taken.document), mode=PRIVATE)
            await engine.state_push(file)

    async def verify(self, _: Seen[Facts, TakeChange], /) -> None:
        if await self.pending():
            raise TalopsError("the states still lack existing objects", hint="talops adopt")

    def _refuse(self, taken: Taken) -> None:
        if taken.refused:
            raise ConflictError(
                "adoption would change running objects; nothing was imported:\n  "
                + "\n  ".join(taken.refused),
                where="cluster.yaml, nodes.yaml",
                hint="write to the inventory what the objects have, or change them in Proxmox "
                "first; see docs/adopt.md for the key of each attribute",
            )

    async def _look(self) -> Facts:
        states, missing = await self._missing()
        if not any(missing.values()):
            return Facts()
        claims, doubts = await self._claims(missing, states)
        if doubts:
            return Facts(doubts=tuple(doubts))
        found: dict[str, Taken] = {}
        for name, layer in self._layers.items():
            mine = tuple(claim for claim in claims if claim.layer == name)
            if not missing[name]:
                continue
            if found and reads_hypervisors(self._site.cluster):
                found[name] = Taken(mine)
            else:
                found[name] = await self._planned(layer, states[name], mine)
        return Facts(found)

    async def _missing(self) -> tuple[dict[str, Document], dict[str, list[str]]]:
        """The state of each layer, and the addresses that it lacks."""
        cluster = self._site.cluster
        states = {name: await self._document(layer) for name, layer in self._layers.items()}
        lacking: dict[str, list[str]] = {}
        for name, state in states.items():
            listed = completing.addresses(state)
            if name == HYPERVISORS:
                assert cluster.hypervisors
                rows, gone = claim_settings(cluster.hypervisors, listed, Settings())
                lacking[name] = [*(row.address for row in rows), *gone]
            else:
                lacking[name] = [w.address for w in self._wishes() if w.address not in listed]
        return states, lacking

    def _wishes(self) -> list[PlannedVm]:
        cluster = self._site.cluster
        return [w for w in wishes(cluster, wanted(cluster)) if w.layer == platform(cluster).name]

    async def _claims(
        self, missing: Mapping[str, Sequence[str]], states: Mapping[str, Document]
    ) -> tuple[list[Claim], list[str]]:
        cluster = self._site.cluster
        home = platform(cluster).name
        selves, (there, exists, files) = await asyncio.gather(
            self._selves(), self._read_proxmox(bool(missing.get(HYPERVISORS)))
        )
        wished = [w for w in self._wishes() if w.address in missing[home]]
        claims, doubts = match_nodes(wished, there, selves)
        listed = completing.addresses(states[home])
        images = {k: i for k, i in self._images().items() if image_address(k) not in listed}
        assert cluster.proxmox
        claims = [*claim_images(home, images, cluster.proxmox.iso_storage, files), *claims]
        if missing.get(HYPERVISORS):
            assert cluster.hypervisors
            known = completing.addresses(states[HYPERVISORS])
            more, absent = claim_settings(cluster.hypervisors, known, exists)
            claims, doubts = [*more, *claims], [*absent, *doubts]
        return claims, doubts

    async def _read_proxmox(
        self, with_settings: bool
    ) -> tuple[Sequence[Guest], Settings, frozenset[str]]:
        cluster, reached = self._site.cluster, access_of(self._site)
        if reached is None:
            raise DeniedError(
                "no credentials for Proxmox", hint="talops host prepare --user root@pam"
            )
        assert cluster.proxmox
        place = cluster.proxmox.iso_storage
        hosts = sorted({image["host"] for image in self._images().values()})
        async with Client(reached) as client:
            there = await guests(client)
            exists = Settings()
            if with_settings and cluster.hypervisors:
                exists = await settings(client, asked_of(cluster.hypervisors))
            files = [
                f"{host}/{volume}"
                for host in hosts
                for volume in await storage.files(client, host, place)
            ]
        return there, exists, frozenset(files)

    async def _selves(self) -> dict[str, Self]:
        """What each node reports about itself, with a certificate of this cluster."""
        nodes = [node for node in self._site.cluster.nodes if node.vm]
        found = await asyncio.gather(*map(self._self, nodes))
        return {node.name: each for node, each in zip(nodes, found, strict=True)}

    async def _self(self, node: Node) -> Self:
        fleet = await self._secrets.fleet()
        state = await fleet.look(node)
        if not isinstance(state, Configured):
            raise ConflictError(
                f"{node.name} does not run a config of this cluster; adopt takes running nodes",
                where=str(node.address),
                hint="remove it from nodes.yaml, adopt the others, then add it again; or: talops "
                "recover",
            )
        with named(node, f"talops talos services --nodes {node.address}"):
            async with fleet.talos(node) as talos:
                machine = await read_machine(talos)
        return Self(machine.uuid, machine.macs, node.uuid)

    def _images(self) -> Mapping[str, Mapping[str, str]]:
        cluster = self._site.cluster
        assert cluster.proxmox
        found: Mapping[str, Mapping[str, str]] = platform_values(cluster, cluster.proxmox)["images"]
        return found

    async def _planned(self, layer: Layer, state: Document, claims: Sequence[Claim]) -> Taken:
        """Plan the layer aside, with import blocks."""
        blocks = import_blocks({claim.address: claim.identity for claim in claims})
        files = wanted_files(self._site.cluster, self._site.root)
        files = {**files, f"{layer.directory}/{FILE}": blocks}
        others = list(self._layers.values())
        with rendered_aside(files, others) as aside:
            place = next(each for each in aside if each.name == layer.name)
            engine = access.engine(self._site, place, self._report.event)
            await initialised(self._site, engine)
            with fleeting(access.saved_plan(place)) as saved:
                await engine.plan(saved, lock=False)
                shown = await engine.show_document(saved)
        plan = read_plan(shown)
        found = findings(plan)
        addresses = {claim.address for claim in claims}
        urls = {image_address(key): image["url"] for key, image in self._images().items()}
        document = with_imported(state, shown, plan, addresses, urls)
        return Taken(tuple(claims), document, found.refused, found.later)

    async def _document(self, layer: Layer) -> Document:
        """The state of the layer; {} if it does not exist."""
        if not (layer.path / "backend.tf").is_file() and self._site.cluster.state.kind == "local":
            return {}
        text = await (await self._engine(layer)).state_pull()
        return dict(json.loads(text)) if text.strip() else {}

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, self._report.event)
        await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
        return engine


def _detail(taken: Taken) -> str:
    what = ", ".join(f"{claim.what} is {claim.identity}" for claim in taken.claims)
    text = f"{count(len(taken.claims), 'object')}, none is changed: {what}"
    return f"{text}; after that: {'; '.join(taken.later)}" if taken.later else text

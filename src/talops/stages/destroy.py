"""Stage `destroy`: what OpenTofu made is unmade, the last layer first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.stage import Change
from talops.render.layers import layers
from talops.site import layer_access as access
from talops.site.resource_story import ResourceStory
from talops.site.state_copies import copies_around
from talops.tofu.apply import fleeting
from talops.tofu.layers import Layer
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site
    from talops.tofu.engine import Engine

DATA = "data."


@dataclass(frozen=True)
class Facts:
    """Layer → addresses of what its state lists."""

    listed: dict[str, tuple[str, ...]]


class Destroy:
    name = "destroy"
    independent = False

    def __init__(
        self, site: Site, report: Reporter, *, every_layer: bool, keep_state: bool
    ) -> None:
        self._site = site
        self._report = report
        self._every_layer = every_layer
        self._keep_state = keep_state

    @property
    def _layers(self) -> list[Layer]:
        """In reverse: what others stand on goes last. Only the cluster's own unless asked."""
        found = reversed(layers(self._site.cluster))
        return [
            Layer(layer.name, self._site.root / layer.directory)
            for layer in found
            if self._every_layer or layer.kind == "platforms"
        ]

    async def observe(self) -> Facts:
        listed = {}
        for layer in self._layers:
            if layer.path.is_dir():
                engine = await self._engine(layer)
                addresses = await engine.state_list()
                listed[layer.name] = tuple(a for a in addresses if f".{DATA}" not in f".{a}")
        return Facts(listed)

    def plan(self, facts: Facts) -> list[Change]:
        return [
            Change("destroy", name, f"{len(addresses)} resources")
            for name, addresses in facts.listed.items()
            if addresses
        ]

    async def apply(self, change: Change) -> None:
        layer = next(layer for layer in self._layers if layer.name == change.target)
        engine = await self._engine(layer)
        policy = Policy(everything=True)
        with fleeting(access.saved_plan(self._site, layer)) as saved:
            if await engine.plan(saved, destroy=True):
                applier = access.destroyer(self._site, layer, engine, policy)
                with copies_around(self._site.root, self._site.cluster):
                    await applier.apply(saved)

    async def verify(self) -> None:
        left = {name: found for name, found in (await self.observe()).listed.items() if found}
        if left:
            name, addresses = next(iter(left.items()))
            raise TalopsError(
                f"the state still lists {len(addresses)} resources: {', '.join(addresses[:3])}",
                where=name,
                hint="talops down again, or look: talops infra state-list",
            )
        if self._site.cluster.state.kind == "local" and not self._keep_state:
            for layer in self._layers:
                for file in layer.path.glob("terraform.tfstate*"):
                    file.unlink()

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, ResourceStory(self._report))
        await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
        return engine
